// Which memory holds values of a launch that nobody computed, or values derived from such: a map of address ranges.
#include <atomic>

#include "state.h"

// How many ranges there are. In a process in which everything is computed no lock is taken, and Python makes no call.
extern "C" __attribute__((visibility("default"))) std::atomic<uint64_t> opkit_taint_ranges{0};

namespace opkit {

namespace {

struct Range {
  uintptr_t end;
  std::shared_ptr<const std::string> source;
};

std::mutex taint_lock;
std::map<uintptr_t, Range>& taints() {
  static auto* all = new std::map<uintptr_t, Range>();
  return *all;
}

// Cuts [begin, end) out of the map. The caller holds the lock.
void cut(uintptr_t begin, uintptr_t end) {
  auto& all = taints();
  auto at = all.lower_bound(begin);
  if (at != all.begin() && std::prev(at)->second.end > begin) --at;
  while (at != all.end() && at->first < end) {
    uintptr_t from = at->first;
    Range range = at->second;
    at = all.erase(at);
    if (from < begin) all[from] = {begin, range.source};
    if (range.end > end) {
      all[end] = range;
      break;
    }
  }
  opkit_taint_ranges = all.size();
}

opkit_read_fn reader = nullptr;

}  // namespace

bool tainted() { return opkit_taint_ranges.load(std::memory_order_acquire) != 0; }

void taint(const void* data, size_t bytes, const std::string& source) {
  if (!data || !bytes) return;
  auto begin = reinterpret_cast<uintptr_t>(data);
  std::lock_guard<std::mutex> guard(taint_lock);
  cut(begin, begin + bytes);
  taints()[begin] = {begin + bytes, std::make_shared<const std::string>(source)};
  opkit_taint_ranges = taints().size();
}

void untaint(const void* data, size_t bytes) {
  if (!tainted() || !bytes) return;
  auto begin = reinterpret_cast<uintptr_t>(data);
  std::lock_guard<std::mutex> guard(taint_lock);
  cut(begin, begin + bytes);
}

std::string taint_of(const void* data, size_t bytes) {
  if (!tainted() || !bytes) return "";
  auto begin = reinterpret_cast<uintptr_t>(data);
  std::lock_guard<std::mutex> guard(taint_lock);
  auto& all = taints();
  auto at = all.upper_bound(begin);
  if (at != all.begin() && std::prev(at)->second.end > begin) return *std::prev(at)->second.source;
  return at != all.end() && at->first < begin + bytes ? *at->second.source : "";
}

void carry_taint(const void* dst, const void* src, size_t bytes) {
  if (!tainted()) return;
  std::string source = taint_of(src, bytes);
  if (source.empty()) return untaint(dst, bytes);
  // The host's own memory is not followed: it may be given back without the stand-in being told.
  if (is_device(dst, bytes) || is_pinned(dst, bytes)) return taint(dst, bytes, source);
  note("read_uncomputed", source);
  if (reader) reader(source.c_str());
}

}  // namespace opkit

using namespace opkit;

ACL_API void opkit_taint(const void* data, size_t bytes, const char* source) { taint(data, bytes, source ? source : ""); }
ACL_API void opkit_untaint(const void* data, size_t bytes) { untaint(data, bytes); }
ACL_API void opkit_set_uncomputed_reader(opkit_read_fn told) { reader = told; }
ACL_API int opkit_tainted() { return tainted(); }

ACL_API const char* opkit_taint_of(const void* data, size_t bytes) {
  static thread_local std::string source;
  source = taint_of(data, bytes);
  return source.c_str();
}
