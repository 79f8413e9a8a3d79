// Streams and the tasks submitted to them. Without a capture a task runs at submission; only a task that waits for an
// event nobody has recorded yet stays in its stream's queue, together with all that follows it.
#include "state.h"

namespace opkit {

std::recursive_mutex& lock() {
  static auto* mutex = new std::recursive_mutex();
  return *mutex;
}

std::map<void*, std::unique_ptr<Stream>>& streams() {
  static auto* all = new std::map<void*, std::unique_ptr<Stream>>();
  return *all;
}

namespace {

int32_t next_stream_id = 1;
uint64_t uncomputed = 0;
thread_local uint64_t uncomputed_launches = 0;
opkit_task_fn task_runner = nullptr;
opkit_release_fn task_releaser = nullptr;
thread_local Stream* running_on = nullptr;  // what a task submits to its own stream runs inside the task

Stream* default_stream(int device) {
  static auto* all = new std::map<int, std::unique_ptr<Stream>>();
  auto& stream = (*all)[device];
  if (!stream) {
    stream.reset(new Stream());
    stream->device = device;
  }
  return stream.get();
}

thread_local uint64_t replayed_model = 0;

// One call into Python for all of them. The first task that fails ends it.
int run_python(const std::vector<Task>& tasks) {
  std::vector<uint64_t> tokens;
  for (auto& task : tasks) tokens.push_back(*task.token);
  set_error("");
  size_t done = task_runner(tokens.data(), tokens.size());
  for (size_t i = 0; i < tasks.size() && i <= done; ++i) note("launch", tasks[i].name, replayed_model);
  if (done >= tasks.size()) return kSuccess;
  std::string said = take_error();
  return refuse(tasks[done].name.c_str(), kInternalError, said.empty() ? "the task failed" : said);
}

int run(Stream* stream, const Task& task) {
  std::swap(stream, running_on);
  int code = task.token ? run_python({task}) : task.run();
  std::swap(stream, running_on);
  return code;
}

int create(const char* function, void** out) {
  if (!out) return refuse(function, kParamInvalid, "null pointer");
  Guard guard(lock());
  std::unique_ptr<Stream> stream(new Stream());
  stream->id = next_stream_id++;
  stream->device = current_device();
  *out = stream.get();
  streams()[*out] = std::move(stream);
  return kSuccess;
}

int wait_for(const char* function, void* handle) {
  Stream* stream = find_stream(handle);
  if (!stream) return refuse(function, kInvalidHandle, "unknown stream");
  if (int code = check_wait(function, stream)) return code;
  int code = run_tasks(stream);
  Guard guard(lock());
  if (stream->first_error) std::swap(code = 0, stream->first_error);
  if (code) return refuse(function, code, "a task of this stream failed");
  if (!stream->queue.empty()) {
    return refuse(function, kWaitTimeout, "the stream waits for an event that nobody has recorded: " +
                  stream->queue.front().name);
  }
  return kSuccess;
}

// Shares one token among the copies of a task, and tells Python when the last of them is gone.
std::shared_ptr<const uint64_t> share(uint64_t token) {
  return std::shared_ptr<const uint64_t>(new uint64_t(token), [](const uint64_t* held) {
    if (task_releaser) task_releaser(*held);
    delete held;
  });
}

}  // namespace

Stream* find_stream(void* handle) {
  Guard guard(lock());
  if (!handle) return default_stream(current_device());
  auto found = streams().find(handle);
  return found == streams().end() ? nullptr : found->second.get();
}

bool is_default(const Stream* stream) { return stream->id == 0; }

int run_in_replay(uint64_t model, const std::vector<Task>& tasks) {
  std::swap(model, replayed_model);
  int code = tasks.front().token ? run_python(tasks) : tasks.front().run();
  std::swap(model, replayed_model);
  return code;
}

void count_uncomputed(const std::string& name) {
  {
    Guard guard(lock());
    ++uncomputed;
  }
  note("uncomputed", name, replayed_model);
}

int submit_uncomputed(const char* function, const std::string& label, void* stream) {
  ++uncomputed_launches;
  return submit(function, stream, {label, [=] { count_uncomputed(label); return 0; }});
}

int run_tasks(Stream* stream) {
  {
    Guard guard(lock());
    if (stream->draining) return kSuccess;
    stream->draining = true;
  }
  int first = kSuccess;
  for (;;) {
    Task task;
    {
      Guard guard(lock());
      if (stream->queue.empty()) break;
      task = stream->queue.front();
    }
    int code = run(stream, task);
    if (code == kBlocked) break;
    Guard guard(lock());
    stream->queue.pop_front();
    if (code && !first) first = stream->first_error = code;
  }
  Guard guard(lock());
  stream->draining = false;
  return first;
}

int run_all_streams() {
  std::vector<Stream*> waiting;
  {
    Guard guard(lock());
    for (auto& entry : streams()) {
      if (!entry.second->queue.empty()) waiting.push_back(entry.second.get());
    }
  }
  for (Stream* stream : waiting) run_tasks(stream);
  return kSuccess;
}

// 0, or the refusal of anything submitted to the stream now. The caller holds the lock.
int check_submission(const char* function, Stream* stream) {
  if (stream->capture) return check_recording(function, stream->capture);
  if (!is_default(stream)) return kSuccess;
  for (auto& entry : models()) {
    Model* model = entry.second.get();
    if (!model->open || model->mode == kRelaxed || model->origin->device != stream->device) continue;
    std::string why = "work on the default stream while another stream is being captured";
    invalidate(model, why);
    return refuse(function, kCaptureImplicit, why);
  }
  return kSuccess;
}

int submit(const char* function, void* handle, Task task) {
  Stream* stream;
  {
    Guard guard(lock());
    stream = find_stream(handle);
    if (!stream) return refuse(function, kInvalidHandle, "unknown stream");
    if (stream->updating) {
      stream->updates.push_back(std::move(task));
      return kSuccess;
    }
    if (int code = check_submission(function, stream)) return code;
    if (stream->capture) return record_task(function, stream, std::move(task));
    if (!stream->queue.empty() && running_on != stream) {
      stream->queue.push_back(std::move(task));
      return kSuccess;
    }
  }
  int code = run(stream, task);
  if (code != kBlocked) return code;
  Guard guard(lock());
  stream->queue.push_back(std::move(task));
  return kSuccess;
}

}  // namespace opkit

using namespace opkit;

ACL_API void opkit_set_task_runner(opkit_task_fn runner) { task_runner = runner; }
ACL_API void opkit_set_task_releaser(opkit_release_fn releaser) { task_releaser = releaser; }
ACL_API uint64_t opkit_uncomputed_launches() { return uncomputed_launches; }
ACL_API uint64_t opkit_uncomputed_count() {
  Guard guard(lock());
  return uncomputed;
}

ACL_API int opkit_check_launch(const char* name, void* handle) {
  Guard guard(lock());
  Stream* stream = find_stream(handle);
  if (!stream) return refuse(name, kInvalidHandle, "unknown stream");
  return stream->updating ? kSuccess : check_submission(name, stream);
}

ACL_API int opkit_launch(const char* name, uint64_t token, void* stream) {
  std::string label = name ? name : "";
  if (!token) {
    return submit_uncomputed("opkit_launch", label, stream);
  }
  if (!task_runner) return refuse("opkit_launch", kInternalError, "no task runner is set, so " + label + " cannot run");
  return submit("opkit_launch", stream, {label, nullptr, share(token)});
}

// ---- the ACL interface -----------------------------------------------------------------------------------------------

ACL_API int aclrtCreateStream(void** out) { return create("aclrtCreateStream", out); }
ACL_API int aclrtCreateStreamWithConfig(void** out, uint32_t, uint32_t) {
  return create("aclrtCreateStreamWithConfig", out);
}

ACL_API int aclrtDestroyStream(void* handle) {
  Guard guard(lock());
  auto found = streams().find(handle);
  if (found == streams().end()) return refuse("aclrtDestroyStream", kInvalidHandle, "unknown stream");
  if (found->second->capture) {
    invalidate(found->second->capture, "a stream of the capture was destroyed");
    return refuse("aclrtDestroyStream", kStreamCaptured, "the stream is being captured");
  }
  streams().erase(found);
  return kSuccess;
}

ACL_API int aclrtDestroyStreamForce(void* handle) { return aclrtDestroyStream(handle); }
ACL_API int aclrtSynchronizeStream(void* handle) { return wait_for("aclrtSynchronizeStream", handle); }
ACL_API int aclrtSynchronizeStreamWithTimeout(void* handle, int32_t) {
  return wait_for("aclrtSynchronizeStreamWithTimeout", handle);
}

ACL_API int aclrtStreamQuery(void* handle, int* status) {
  Stream* stream = find_stream(handle);
  if (!stream) return refuse("aclrtStreamQuery", kInvalidHandle, "unknown stream");
  if (int code = check_wait("aclrtStreamQuery", stream)) return code;
  run_tasks(stream);
  Guard guard(lock());
  *status = stream->queue.empty() ? 0 : 1;
  return kSuccess;
}

namespace {
int wait_for_device(const char* function) {
  if (int code = check_wait_device(function)) return code;
  run_all_streams();
  Guard guard(lock());
  for (auto& entry : streams()) {
    if (entry.second->queue.empty() || entry.second->device != current_device()) continue;
    return refuse(function, kWaitTimeout, "a stream waits for an event that nobody has recorded");
  }
  return kSuccess;
}
}  // namespace

ACL_API int aclrtSynchronizeDevice() { return wait_for_device("aclrtSynchronizeDevice"); }
ACL_API int aclrtSynchronizeDeviceWithTimeout(int32_t) { return wait_for_device("aclrtSynchronizeDeviceWithTimeout"); }

ACL_API int aclrtStreamGetId(void* handle, int32_t* id) {
  Stream* stream = find_stream(handle);
  if (!stream) return refuse("aclrtStreamGetId", kInvalidHandle, "unknown stream");
  *id = stream->id;
  return kSuccess;
}

ACL_API int aclrtLaunchCallback(void (*function)(void*), void* data, int, void* stream) {
  return submit("aclrtLaunchCallback", stream, {"aclrtLaunchCallback", [=] { function(data); return 0; }});
}

ACL_API int aclrtLaunchHostFunc(void* stream, void (*function)(void*), void* data) {
  return submit("aclrtLaunchHostFunc", stream, {"aclrtLaunchHostFunc", [=] { function(data); return 0; }});
}

ACL_API int aclrtValueWrite(void* at, uint64_t value, uint32_t, void* stream) {
  return submit("aclrtValueWrite", stream, {"aclrtValueWrite", [=] {
    memcpy(at, &value, sizeof value);
    return run_all_streams();
  }});
}

ACL_API int aclrtValueWait(void* at, uint64_t value, uint32_t how, void* stream) {
  if (how > 3) return refuse("aclrtValueWait", kParamInvalid, "unknown comparison");
  return submit("aclrtValueWait", stream, {"aclrtValueWait", [=] {
    uint64_t now;
    memcpy(&now, at, sizeof now);
    bool met = how == 0 ? now >= value : how == 1 ? now == value : how == 2 ? (now & value) != 0 : ~(now | value) != 0;
    return met ? 0 : kBlocked;
  }});
}

// Callbacks run where they are submitted, so no thread ever has a report to process.
ACL_API int aclrtSubscribeReport(uint64_t, void*) { return kSuccess; }
ACL_API int aclrtUnSubscribeReport(uint64_t, void*) { return kSuccess; }
ACL_API int aclrtProcessReport(int32_t timeout) {
  std::this_thread::sleep_for(std::chrono::milliseconds(timeout < 0 || timeout > 100 ? 100 : timeout));
  return kWaitTimeout;
}
// A hint to the cache: nothing to do where device memory is host memory.
ACL_API int aclrtCmoAsync(void*, size_t, int, void*) { return kSuccess; }
