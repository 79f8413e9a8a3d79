// Events. Outside a capture they order streams; inside one they also bring other streams into the capture, and an
// external event (flag 0x20) is a real task that a replay waits for.
#include "state.h"

namespace opkit {

std::map<void*, std::shared_ptr<Event>>& events() {
  static auto* all = new std::map<void*, std::shared_ptr<Event>>();
  return *all;
}

namespace {

std::shared_ptr<Event> find_event(void* handle) {
  Guard guard(lock());
  auto found = events().find(handle);
  return found == events().end() ? nullptr : found->second;
}

int create(void** out, uint32_t flag) {
  if (!out) return refuse("aclrtCreateEvent", kParamInvalid, "null pointer");
  Guard guard(lock());
  auto event = std::make_shared<Event>();
  event->flag = flag;
  event->device = current_device();
  *out = event.get();
  events()[*out] = event;
  return kSuccess;
}

Model* captured_in(const Event& event) {
  auto found = models().find(event.captured_in);
  return found != models().end() && found->second->open ? found->second.get() : nullptr;
}

// 0, or the refusal: an event recorded in an open capture has no state that may be asked for.
int check_event(const char* function, const Event& event) {
  Guard guard(lock());
  if (Model* model = captured_in(event)) {
    std::string why = "the event was recorded in a capture that is still open";
    invalidate(model, why);
    return refuse(function, kEventCaptured, why);
  }
  return check_wait(function, nullptr);
}

void mark(Event& event) {
  event.recorded = true;
  event.when = std::chrono::steady_clock::now();
}

Task record_task_of(std::shared_ptr<Event> event) {
  return {"aclrtRecordEvent", [event] {
    {
      Guard guard(lock());
      mark(*event);
      if (event->pending) --event->pending;
    }
    return run_all_streams();
  }};
}

Task wait_task_of(std::shared_ptr<Event> event) {
  return {"aclrtStreamWaitEvent", [event] {
    Guard guard(lock());
    return (event->external() ? !event->recorded : event->pending > 0) ? kBlocked : 0;
  }};
}

}  // namespace
}  // namespace opkit

using namespace opkit;

ACL_API int aclrtCreateEvent(void** out) { return create(out, 0); }
ACL_API int aclrtCreateEventWithFlag(void** out, uint32_t flag) { return create(out, flag); }
ACL_API int aclrtCreateEventExWithFlag(void** out, uint32_t flag) { return create(out, flag); }

ACL_API int aclrtDestroyEvent(void* handle) {
  Guard guard(lock());
  return events().erase(handle) ? kSuccess : refuse("aclrtDestroyEvent", kInvalidHandle, "unknown event");
}

ACL_API int aclrtRecordEvent(void* handle, void* stream_handle) {
  auto event = find_event(handle);
  if (!event) return refuse("aclrtRecordEvent", kInvalidHandle, "unknown event");
  {
    Guard guard(lock());
    Stream* stream = find_stream(stream_handle);
    if (stream && stream->capture && !event->external()) {
      int code = record_task("aclrtRecordEvent", stream, {"aclrtRecordEvent", [] { return 0; }});
      event->captured_in = stream->capture->id;
      event->seen = stream->seen;
      event->seen[stream] = stream->last_task;
      return code;
    }
    if (stream && !stream->capture) {
      event->captured_in = 0;
      ++event->pending;
    }
  }
  return submit("aclrtRecordEvent", stream_handle, record_task_of(event));
}

ACL_API int aclrtStreamWaitEvent(void* stream_handle, void* handle) {
  const char* function = "aclrtStreamWaitEvent";
  auto event = find_event(handle);
  if (!event) return refuse(function, kInvalidHandle, "unknown event");
  {
    Guard guard(lock());
    Stream* stream = find_stream(stream_handle);
    if (!stream) return refuse(function, kInvalidHandle, "unknown stream");
    if (!event->external()) {
      Model* model = captured_in(*event);
      if (model && stream->capture && stream->capture != model) {
        invalidate(model, "a stream of another capture waits for an event of this one");
        return refuse(function, kCaptureConflict, "event and stream belong to different captures");
      }
      if (model) {
        join(stream, model, *event);
        return record_task(function, stream, {function, [] { return 0; }});
      }
      if (stream->capture && event->recorded) {
        std::string why = "the captured stream waits for an event that was recorded outside the capture";
        invalidate(stream->capture, why);
        return refuse(function, kCaptureDependency, why);
      }
      if (stream->capture) return kSuccess;  // never recorded: nothing to wait for
    }
  }
  return submit(function, stream_handle, wait_task_of(event));
}

ACL_API int aclrtResetEvent(void* handle, void* stream) {
  auto event = find_event(handle);
  if (!event) return refuse("aclrtResetEvent", kInvalidHandle, "unknown event");
  return submit("aclrtResetEvent", stream, {"aclrtResetEvent", [event] {
    Guard guard(lock());
    event->recorded = false;
    return 0;
  }});
}

ACL_API int aclrtSynchronizeEvent(void* handle) {
  auto event = find_event(handle);
  if (!event) return refuse("aclrtSynchronizeEvent", kInvalidHandle, "unknown event");
  if (int code = check_event("aclrtSynchronizeEvent", *event)) return code;
  run_all_streams();
  Guard guard(lock());
  return event->pending ? refuse("aclrtSynchronizeEvent", kWaitTimeout, "the event's stream is blocked") : kSuccess;
}

ACL_API int aclrtSynchronizeEventWithTimeout(void* handle, int32_t) { return aclrtSynchronizeEvent(handle); }

ACL_API int aclrtQueryEventStatus(void* handle, int* status) {
  auto event = find_event(handle);
  if (!event) return refuse("aclrtQueryEventStatus", kInvalidHandle, "unknown event");
  if (int code = check_event("aclrtQueryEventStatus", *event)) return code;
  Guard guard(lock());
  *status = event->pending ? 0 : 1;  // not ready, complete
  return kSuccess;
}

ACL_API int aclrtQueryEventWaitStatus(void* handle, int* status) {
  auto event = find_event(handle);
  if (!event) return refuse("aclrtQueryEventWaitStatus", kInvalidHandle, "unknown event");
  if (int code = check_event("aclrtQueryEventWaitStatus", *event)) return code;
  Guard guard(lock());
  *status = event->pending ? 1 : 0;  // not ready, complete
  return kSuccess;
}

ACL_API int aclrtEventElapsedTime(float* ms, void* start_handle, void* end_handle) {
  auto start = find_event(start_handle), end = find_event(end_handle);
  if (!start || !end) return refuse("aclrtEventElapsedTime", kInvalidHandle, "unknown event");
  Guard guard(lock());
  if (!start->recorded || !end->recorded) {
    return refuse("aclrtEventElapsedTime", kEventTimestampInvalid, "an event was never recorded");
  }
  *ms = std::chrono::duration<float, std::milli>(end->when - start->when).count();
  return kSuccess;
}

ACL_API int aclrtEventGetTimestamp(void* handle, uint64_t* microseconds) {
  auto event = find_event(handle);
  Guard guard(lock());
  if (!event || !event->recorded) return refuse("aclrtEventGetTimestamp", kEventTimestampInvalid, "never recorded");
  auto since = event->when.time_since_epoch();
  *microseconds = static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(since).count());
  return kSuccess;
}
