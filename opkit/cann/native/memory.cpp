// Device memory is host memory. Fresh memory is filled with 0xFF, which is NaN in every floating type, so that a value
// nobody computed cannot pass for a zero.
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>

#include "state.h"

// Grows when device memory is given back: as long as it stands still, what was alive still is.
extern "C" __attribute__((visibility("default"))) std::atomic<uint64_t> opkit_frees{0};

namespace opkit {

namespace {

struct Block {
  size_t bytes;
  size_t reserved = 0;  // for virtual memory: bytes of the mapping, to restore it when unmapped
};

struct Physical {
  int fd;
  size_t bytes;
};

template <class Map>
bool inside(const Map& blocks, const void* data, size_t bytes) {
  auto at = static_cast<const char*>(data);
  auto next = blocks.upper_bound(const_cast<char*>(at));
  if (next == blocks.begin()) return false;
  const auto& block = *std::prev(next);
  return at + bytes <= block.first + block.second.bytes;
}

using Blocks = std::map<char*, Block>;
Blocks& device_blocks() { static auto* all = new Blocks(); return *all; }
Blocks& pinned_blocks() { static auto* all = new Blocks(); return *all; }
Blocks& reserved_blocks() { static auto* all = new Blocks(); return *all; }
std::set<Physical*>& physicals() { static auto* all = new std::set<Physical*>(); return *all; }
size_t used = 0;

size_t capacity() {
  static const size_t bytes = static_cast<size_t>(atof(setting("OPKIT_DEVICE_MEMORY_GIB", "32").c_str()) * (1u << 30));
  return bytes;
}

int take(Blocks& blocks, void** out, size_t bytes, size_t align) {
  if (!out || !bytes) return kParamInvalid;
  void* data = nullptr;
  if (posix_memalign(&data, align, bytes)) return kOutOfMemory;
  memset(data, 0xFF, bytes);
  blocks[static_cast<char*>(data)] = {bytes};
  *out = data;
  return kSuccess;
}

int take_device(const char* function, void** out, size_t bytes) {
  Guard guard(lock());
  if (used + bytes > capacity()) {
    return refuse(function, kOutOfMemory, "out of device memory: " + std::to_string(bytes) + " bytes asked, " +
                  std::to_string(capacity() - used) + " free (OPKIT_DEVICE_MEMORY_GIB sets the size)");
  }
  int code = take(device_blocks(), out, bytes, 512);
  if (code) return refuse(function, code, "cannot allocate " + std::to_string(bytes) + " bytes");
  used += bytes;
  return kSuccess;
}

}  // namespace

bool is_device(const void* data, size_t bytes) {
  Guard guard(lock());
  return inside(device_blocks(), data, bytes);
}

bool is_pinned(const void* data, size_t bytes) {
  Guard guard(lock());
  return inside(pinned_blocks(), data, bytes);
}

void* allocate_device(size_t bytes) {
  void* data = nullptr;
  return take_device("opkit_allocate", &data, bytes ? bytes : 1) ? nullptr : data;
}

int free_device(void* data) {
  Guard guard(lock());
  auto found = device_blocks().find(static_cast<char*>(data));
  if (found == device_blocks().end() || found->second.reserved) return kParamInvalid;
  ++opkit_frees;
  used -= found->second.bytes;
  untaint(data, found->second.bytes);
  device_blocks().erase(found);
  free(data);
  return kSuccess;
}

}  // namespace opkit

using namespace opkit;

ACL_API int aclrtMalloc(void** out, size_t bytes, int) { return take_device("aclrtMalloc", out, bytes); }
ACL_API int aclrtMallocAlign32(void** out, size_t bytes, int) { return take_device("aclrtMallocAlign32", out, bytes); }

ACL_API int aclrtFree(void* data) {
  int code = free_device(data);
  return code ? refuse("aclrtFree", code, "not the start of a live device allocation") : code;
}

ACL_API int aclrtMallocHost(void** out, size_t bytes) {
  Guard guard(lock());
  int code = take(pinned_blocks(), out, bytes, 4096);
  return code ? refuse("aclrtMallocHost", code, "cannot allocate " + std::to_string(bytes) + " bytes") : code;
}

ACL_API int aclrtMallocHostWithCfg(void** out, uint64_t bytes, void*) { return aclrtMallocHost(out, bytes); }

ACL_API int aclrtFreeHost(void* data) {
  Guard guard(lock());
  auto found = pinned_blocks().find(static_cast<char*>(data));
  if (found == pinned_blocks().end()) {
    return refuse("aclrtFreeHost", kParamInvalid, "not the start of a live host allocation");
  }
  untaint(data, found->second.bytes);
  pinned_blocks().erase(found);
  free(data);
  return kSuccess;
}

ACL_API int aclrtHostRegister(void* data, uint64_t bytes, int, void** device) {
  if (!data || !bytes || !device) return refuse("aclrtHostRegister", kParamInvalid, "null pointer or empty range");
  Guard guard(lock());
  pinned_blocks()[static_cast<char*>(data)] = {bytes};
  *device = data;
  return kSuccess;
}

ACL_API int aclrtHostRegisterV2(void* data, uint64_t bytes, uint32_t) {
  void* device = nullptr;
  return aclrtHostRegister(data, bytes, 0, &device);
}

ACL_API int aclrtHostUnregister(void* data) {
  Guard guard(lock());
  if (!pinned_blocks().erase(static_cast<char*>(data))) {
    return refuse("aclrtHostUnregister", kParamInvalid, "this range is not registered");
  }
  return kSuccess;
}

// ---- virtual memory (torch_npu's expandable segments) ----------------------------------------------------------------

ACL_API int aclrtReserveMemAddress(void** out, size_t bytes, size_t, void* expected, uint64_t) {
  void* at = mmap(expected, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) return refuse("aclrtReserveMemAddress", kOutOfMemory, "cannot reserve addresses");
  Guard guard(lock());
  reserved_blocks()[static_cast<char*>(at)] = {bytes};
  *out = at;
  return kSuccess;
}

ACL_API int aclrtReleaseMemAddress(void* at) {
  Guard guard(lock());
  auto found = reserved_blocks().find(static_cast<char*>(at));
  if (found == reserved_blocks().end()) return refuse("aclrtReleaseMemAddress", kParamInvalid, "not reserved");
  munmap(at, found->second.bytes);
  reserved_blocks().erase(found);
  return kSuccess;
}

ACL_API int aclrtMallocPhysical(void** handle, size_t bytes, const void*, uint64_t) {
  Guard guard(lock());
  if (used + bytes > capacity()) return refuse("aclrtMallocPhysical", kOutOfMemory, "out of device memory");
  int fd = memfd_create("opkit-device-memory", MFD_CLOEXEC);
  if (fd < 0 || ftruncate(fd, static_cast<off_t>(bytes))) {
    if (fd >= 0) close(fd);
    return refuse("aclrtMallocPhysical", kOutOfMemory, "cannot create memory");
  }
  auto physical = new Physical{fd, bytes};
  physicals().insert(physical);
  used += bytes;
  *handle = physical;
  return kSuccess;
}

ACL_API int aclrtFreePhysical(void* handle) {
  Guard guard(lock());
  auto physical = static_cast<Physical*>(handle);
  if (!physicals().erase(physical)) return refuse("aclrtFreePhysical", kInvalidHandle, "unknown handle");
  used -= physical->bytes;
  close(physical->fd);
  delete physical;
  return kSuccess;
}

ACL_API int aclrtMapMem(void* at, size_t bytes, size_t offset, void* handle, uint64_t) {
  Guard guard(lock());
  auto physical = static_cast<Physical*>(handle);
  if (!physicals().count(physical)) return refuse("aclrtMapMem", kInvalidHandle, "unknown handle");
  if (!inside(reserved_blocks(), at, bytes)) return refuse("aclrtMapMem", kParamInvalid, "address is not reserved");
  void* got = mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, physical->fd, static_cast<off_t>(offset));
  if (got == MAP_FAILED) return refuse("aclrtMapMem", kOutOfMemory, "cannot map");
  memset(at, 0xFF, bytes);
  device_blocks()[static_cast<char*>(at)] = {bytes, bytes};
  return kSuccess;
}

ACL_API int aclrtUnmapMem(void* at) {
  Guard guard(lock());
  auto found = device_blocks().find(static_cast<char*>(at));
  if (found == device_blocks().end() || !found->second.reserved) {
    return refuse("aclrtUnmapMem", kParamInvalid, "nothing is mapped here");
  }
  ++opkit_frees;
  untaint(at, found->second.reserved);
  mmap(at, found->second.reserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  device_blocks().erase(found);
  return kSuccess;
}

// ---- questions -------------------------------------------------------------------------------------------------------

ACL_API int aclrtGetMemInfo(int, size_t* free_bytes, size_t* total) {
  Guard guard(lock());
  *free_bytes = capacity() - used;
  *total = capacity();
  return kSuccess;
}

ACL_API int aclrtGetMemUsageInfo(int32_t, void*, size_t, size_t* count) {
  *count = 0;
  return kSuccess;
}

namespace {
struct PointerAttributes {
  uint32_t device, location, page_size, reserved[4];
};
}  // namespace

ACL_API int aclrtPointerGetAttributes(const void* data, PointerAttributes* out) {
  // Locations: 0 pinned host memory, 1 device, 2 memory that the runtime does not know.
  *out = {};
  out->device = static_cast<uint32_t>(current_device());
  out->location = is_device(data, 1) ? 1u : is_pinned(data, 1) ? 0u : 2u;
  return kSuccess;
}

ACL_API int opkit_is_device_memory(const void* data, size_t bytes) { return is_device(data, bytes); }
