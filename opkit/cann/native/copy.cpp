// Copies and fills. Synchronous ones run at once and are refused while a capture forbids them; asynchronous ones are
// tasks of their stream.
#include "state.h"

namespace opkit {

namespace {

enum Kind : int { kHostToHost, kHostToDevice, kDeviceToHost, kDeviceToDevice, kDefault, kHostToBufToDevice };

// A replay of a recorded copy must not touch memory that has been freed since.
bool alive(const void* data, size_t bytes) { return is_device(data, bytes) || is_pinned(data, bytes); }

int move(void* dst, const void* src, size_t bytes) {
  memmove(dst, src, bytes);
  carry_taint(dst, src, bytes);
  return kSuccess;
}

struct Where {
  bool captured = false, waiting = false;
};

Where where_is(void* handle) {
  Guard guard(lock());
  const Stream* stream = find_stream(handle);
  return stream ? Where{stream->capture != nullptr, !stream->queue.empty()} : Where{};
}

// CANN turns an asynchronous copy of pageable memory into a synchronous one, which a capture forbids.
int refuse_pageable(const char* function, void* handle) {
  std::string why = "asynchronous copy of host memory that aclrtMallocHost did not allocate, while capturing";
  Guard guard(lock());
  if (Model* model = open_capture(find_stream(handle))) {
    invalidate(model, why);
    return refuse(function, kCaptureBlocksSync, why);
  }
  return refuse(function, kWaitTimeout, "copy of pageable memory on a stream that waits for an event nobody has recorded");
}

int copy_async(const char* function, void* dst, size_t room, const void* src, size_t bytes, int kind, void* handle) {
  if (!bytes) return kSuccess;
  if (!dst || !src || bytes > room) return refuse(function, kParamInvalid, "null pointer or destination too small");
  Where where = where_is(handle);
  if (!where.captured && !where.waiting) {
    return submit(function, handle, {function, [=] { return move(dst, src, bytes); }});
  }
  if (kind == kHostToBufToDevice) {
    // The runtime takes its own copy of the host data at submission, so the caller may reuse its buffer.
    auto buffer = std::make_shared<std::string>(static_cast<const char*>(src), bytes);
    return submit(function, handle, {function, [=] { return move(dst, buffer->data(), bytes); }});
  }
  if (!(alive(dst, bytes) && alive(src, bytes))) return refuse_pageable(function, handle);
  return submit(function, handle, {function, [=] {
    if (!(alive(dst, bytes) && alive(src, bytes))) {
      return refuse(function, kDeviceFault, "copy of " + std::to_string(bytes) + " bytes touches memory that was freed");
    }
    return move(dst, src, bytes);
  }});
}

int fill_async(void* dst, size_t room, int value, size_t bytes, void* handle) {
  const char* function = "aclrtMemsetAsync";
  if (!bytes) return kSuccess;
  if (!dst || bytes > room) return refuse(function, kParamInvalid, "null pointer or destination too small");
  return submit(function, handle, {function, [=] {
    if (!alive(dst, bytes)) return refuse(function, kDeviceFault, "fills memory that is not allocated");
    memset(dst, value, bytes);
    untaint(dst, bytes);
    return 0;
  }});
}

}  // namespace
}  // namespace opkit

using namespace opkit;

ACL_API int aclrtMemcpy(void* dst, size_t room, const void* src, size_t bytes, int) {
  if (int code = check_sync_memory("aclrtMemcpy")) return code;
  if (!bytes) return kSuccess;
  if (!dst || !src || bytes > room) return refuse("aclrtMemcpy", kParamInvalid, "null pointer or destination too small");
  return move(dst, src, bytes);
}

ACL_API int aclrtMemset(void* dst, size_t room, int32_t value, size_t bytes) {
  if (int code = check_sync_memory("aclrtMemset")) return code;
  if (!dst || bytes > room) return refuse("aclrtMemset", kParamInvalid, "null pointer or destination too small");
  memset(dst, value, bytes);
  untaint(dst, bytes);
  return kSuccess;
}

ACL_API int aclrtMemcpy2d(void* dst, size_t dst_pitch, const void* src, size_t src_pitch, size_t width, size_t height, int) {
  if (int code = check_sync_memory("aclrtMemcpy2d")) return code;
  if (width > dst_pitch || width > src_pitch) return refuse("aclrtMemcpy2d", kParamInvalid, "width exceeds the pitch");
  for (size_t row = 0; row < height; ++row) {
    move(static_cast<char*>(dst) + row * dst_pitch, static_cast<const char*>(src) + row * src_pitch, width);
  }
  return kSuccess;
}

ACL_API int aclrtMemcpyAsync(void* dst, size_t room, const void* src, size_t bytes, int kind, void* stream) {
  return copy_async("aclrtMemcpyAsync", dst, room, src, bytes, kind, stream);
}

ACL_API int aclrtMemcpyAsyncWithCondition(void* dst, size_t room, const void* src, size_t bytes, int kind, void* stream) {
  return copy_async("aclrtMemcpyAsyncWithCondition", dst, room, src, bytes, kind, stream);
}

ACL_API int aclrtMemsetAsync(void* dst, size_t room, int32_t value, size_t bytes, void* stream) {
  return fill_async(dst, room, value, bytes, stream);
}

ACL_API int aclrtMemcpyBatch(void** dsts, size_t* rooms, void** srcs, size_t* sizes, size_t n, void*, size_t*, size_t,
                             size_t* failed) {
  for (size_t i = 0; i < n; ++i) {
    if (int code = aclrtMemcpy(dsts[i], rooms[i], srcs[i], sizes[i], kDefault)) {
      if (failed) *failed = i;
      return code;
    }
  }
  return kSuccess;
}

ACL_API int aclrtMemcpyBatchAsync(void** dsts, size_t* rooms, void** srcs, size_t* sizes, size_t n, void*, size_t*, size_t,
                                  size_t* failed, void* stream) {
  for (size_t i = 0; i < n; ++i) {
    if (int code = copy_async("aclrtMemcpyBatchAsync", dsts[i], rooms[i], srcs[i], sizes[i], kDefault, stream)) {
      if (failed) *failed = i;
      return code;
    }
  }
  return kSuccess;
}
