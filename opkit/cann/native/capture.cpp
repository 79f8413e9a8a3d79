// Stream capture (aclmdlRI*): tasks given to a captured stream are stored and run on each replay; what the runtime
// forbids during a capture fails with its code and the capture is lost.
#include "state.h"

namespace opkit {

std::map<uint64_t, std::unique_ptr<Model>>& models() {
  static auto* all = new std::map<uint64_t, std::unique_ptr<Model>>();
  return *all;
}

namespace {

uint64_t next_model_id = 1;
thread_local CaptureMode thread_mode = kGlobal;

Model* find_model(void* handle) {
  for (auto& entry : models()) {
    if (entry.second.get() == handle) return entry.second.get();
  }
  return nullptr;
}

// Whether this thread may not do what would disturb a capture: in its own mode "global" any capture begun as global
// counts, in "thread local" only captures begun on this thread, in "relaxed" none.
Model* disturbed_capture() {
  if (thread_mode == kRelaxed) return nullptr;
  auto here = std::this_thread::get_id();
  for (auto& entry : models()) {
    Model* model = entry.second.get();
    if (!model->open || model->mode == kRelaxed) continue;
    if (model->thread == here || (thread_mode == kGlobal && model->mode == kGlobal)) return model;
  }
  return nullptr;
}

Model* captured_here() {
  for (auto& entry : models()) {
    if (entry.second->open && entry.second->thread == std::this_thread::get_id()) return entry.second.get();
  }
  return nullptr;
}

const char* kNotRelaxed =
    "operation not permitted when a stream is capturing and the specified capture mode is not relaxed";

void leave(Model* model) {
  model->open = false;
  for (Stream* stream : model->streams) {
    stream->capture = nullptr;
    stream->seen.clear();
    stream->last_task = 0;
  }
}

// A stream that the origin stream has not waited for.
const Stream* unjoined(const Model* model) {
  for (Stream* stream : model->streams) {
    if (stream == model->origin) continue;
    auto seen = model->origin->seen.find(stream);
    if (seen == model->origin->seen.end() || seen->second < stream->last_task) return stream;
  }
  return nullptr;
}

int run_model_tasks(uint64_t id, size_t first, size_t last) {
  std::vector<Task> tasks;
  {
    Guard guard(lock());
    auto found = models().find(id);
    if (found == models().end()) return refuse("aclmdlRIExecuteAsync", kInvalidHandle, "the model was destroyed");
    auto begin = found->second->tasks.begin();  // looked up now: an update since the submission counts
    tasks.assign(begin + first, begin + last);
  }
  return run_in_replay(id, tasks);
}

// The end of the range that begins at task `first`: all that Python computes without another task in between, or one.
size_t end_of_range(const std::vector<Task>& tasks, size_t first) {
  size_t last = first + 1;
  if (tasks[first].token) {
    while (last < tasks.size() && tasks[last].token) ++last;
  }
  return last;
}

}  // namespace

Model* open_capture(const Stream* stream) { return stream ? stream->capture : nullptr; }

void invalidate(Model* model, const std::string& why) {
  if (!model || model->invalid) return;
  model->invalid = true;
  model->why_invalid = why + called_by();  // the end of the capture names it again
  note("capture_invalid", "", model->id, kCaptureInvalidated, why);
}

int check_sync_memory(const char* function) {
  Guard guard(lock());
  Model* model = disturbed_capture();
  if (!model) return kSuccess;
  invalidate(model, std::string(function) + ": " + kNotRelaxed);
  return refuse(function, kCaptureBlocksSync, kNotRelaxed);
}

int check_wait(const char* function, Stream* stream) {
  Guard guard(lock());
  if (stream && stream->capture) {
    std::string why = "waiting for, or querying, a stream that is being captured";
    invalidate(stream->capture, std::string(function) + ": " + why);
    return refuse(function, kStreamCaptured, why);
  }
  Model* model = disturbed_capture();
  // On the thread that captures, no mode allows it: the answer could only be about work outside the capture.
  if (!model) model = captured_here();
  if (!model) return kSuccess;
  std::string why = "waiting for, or querying, a stream or an event while this thread captures";
  if (model->thread != std::this_thread::get_id()) why = kNotRelaxed;
  invalidate(model, std::string(function) + ": " + why);
  return refuse(function, kCaptureNotSupported, why);
}

int check_wait_device(const char* function) {
  Guard guard(lock());
  for (auto& entry : models()) {
    Model* model = entry.second.get();
    if (!model->open || model->origin->device != current_device()) continue;
    std::string why = "waiting for a device while one of its streams is being captured";
    invalidate(model, std::string(function) + ": " + why);
    return refuse(function, kStreamCaptured, why);
  }
  return kSuccess;
}

void join(Stream* stream, Model* model, const Event& event) {
  stream->capture = model;
  model->streams.insert(stream);
  for (auto& entry : event.seen) {
    size_t& known = stream->seen[entry.first];
    known = std::max(known, entry.second);
  }
}

int check_recording(const char* function, const Model* model) {
  if (!model->invalid) return kSuccess;
  return refuse(function, kCaptureInvalidated, "the capture was lost before: " + model->why_invalid);
}

int record_task(const char* function, Stream* stream, Task task) {
  Model* model = stream->capture;
  if (int code = check_recording(function, model)) return code;
  note("record", task.name, model->id);
  stream->last_said = task.name + called_by();
  model->tasks.push_back(std::move(task));
  stream->last_task = model->tasks.size();
  return kSuccess;
}

}  // namespace opkit

using namespace opkit;

ACL_API int opkit_stream_is_capturing(void* handle) {
  Guard guard(lock());
  return open_capture(find_stream(handle)) ? 1 : 0;
}

ACL_API uint64_t opkit_capturing_model(void* handle) {
  Guard guard(lock());
  Model* model = open_capture(find_stream(handle));
  return model ? model->id : 0;
}

ACL_API const char* opkit_model_tasks(uint64_t id) {
  static thread_local std::string json;
  Guard guard(lock());
  auto found = models().find(id);
  if (found == models().end()) return "null";
  json = "[";
  for (auto& task : found->second->tasks) json += (json.size() > 1 ? "," : "") + quoted(task.name);
  json += "]";
  return json.c_str();
}

ACL_API int aclmdlRICaptureBegin(void* handle, int mode) {
  const char* function = "aclmdlRICaptureBegin";
  Guard guard(lock());
  Stream* stream = find_stream(handle);
  if (!stream) return refuse(function, kInvalidHandle, "unknown stream");
  if (mode < kGlobal || mode > kRelaxed) return refuse(function, kParamInvalid, "unknown capture mode");
  if (is_default(stream)) return refuse(function, kCaptureImplicit, "the default stream cannot be captured");
  if (stream->capture) return refuse(function, kStreamCaptured, "the stream is being captured already");
  std::unique_ptr<Model> model(new Model());
  model->id = next_model_id++;
  model->origin = stream;
  model->thread = std::this_thread::get_id();
  model->mode = static_cast<CaptureMode>(mode);
  model->open = true;
  model->streams = {stream};
  stream->capture = model.get();
  note("capture_begin", "", model->id);
  models()[model->id] = std::move(model);
  return kSuccess;
}

ACL_API int aclmdlRICaptureGetInfo(void* handle, int* status, void** out) {
  Guard guard(lock());
  Stream* stream = find_stream(handle);
  if (!stream) return refuse("aclmdlRICaptureGetInfo", kInvalidHandle, "unknown stream");
  Model* model = stream->capture;
  if (status) *status = !model ? 0 : model->invalid ? 2 : 1;
  if (out) *out = model;
  return kSuccess;
}

ACL_API int aclmdlRICaptureEnd(void* handle, void** out) {
  const char* function = "aclmdlRICaptureEnd";
  std::unique_ptr<Model> gone;  // destroyed after the lock is released: releasing tokens calls Python
  Guard guard(lock());
  if (out) *out = nullptr;
  Stream* stream = find_stream(handle);
  if (!stream) return refuse(function, kInvalidHandle, "unknown stream");
  Model* model = stream->capture;
  if (!model) return refuse(function, kStreamNotCaptured, "the stream is not being captured");
  if (model->origin != stream) {
    invalidate(model, "ended on another stream");
    return refuse(function, kCaptureUnmatched, "the capture was begun on another stream");
  }
  if (model->mode != kRelaxed && model->thread != std::this_thread::get_id()) {
    invalidate(model, "ended on another thread");
    return refuse(function, kCaptureWrongThread, "the capture was begun on another thread");
  }
  bool lost = model->invalid, open_group = model->group_begin >= 0;
  const Stream* loose = unjoined(model);
  std::string why = model->why_invalid;
  leave(model);
  note("capture_end", "", model->id, lost ? kCaptureInvalidated : loose ? kStreamUnjoined : kSuccess, why);
  if (!lost && !loose && !open_group) {
    if (out) *out = model;
    return kSuccess;
  }
  gone = std::move(models()[model->id]);
  models().erase(gone->id);
  if (lost) return refuse(function, kCaptureInvalidated, "the capture was lost: " + why);
  if (open_group) return refuse(function, kTaskGroupInterrupted, "a task group is still open");
  why = "a captured stream has work that the first stream does not wait for: " + loose->last_said;
  return refuse(function, kStreamUnjoined, why);
}

ACL_API int aclmdlRICaptureThreadExchangeMode(int* mode) {
  if (!mode || *mode < kGlobal || *mode > kRelaxed) {
    return refuse("aclmdlRICaptureThreadExchangeMode", kParamInvalid, "unknown capture mode");
  }
  int before = thread_mode;
  thread_mode = static_cast<CaptureMode>(*mode);
  *mode = before;
  return kSuccess;
}

ACL_API int aclmdlRIExecuteAsync(void* handle, void* stream) {
  const char* function = "aclmdlRIExecuteAsync";
  uint64_t id;
  std::vector<size_t> ends;  // of the ranges of tasks that run in one go
  {
    Guard guard(lock());
    Model* model = find_model(handle);
    if (!model) return refuse(function, kInvalidHandle, "unknown model");
    if (model->open) return refuse(function, kModelCaptured, "the model is still being captured");
    id = model->id;
    for (size_t at = 0; at < model->tasks.size(); at = ends.back()) ends.push_back(end_of_range(model->tasks, at));
    note("replay", "", id);
  }
  size_t first = 0;
  for (size_t last : ends) {
    Task range{"replayed task", [=] { return run_model_tasks(id, first, last); }, nullptr};
    if (int code = submit(function, stream, std::move(range))) return code;
    first = last;
  }
  return kSuccess;
}

ACL_API int aclmdlRIDestroy(void* handle) {
  std::unique_ptr<Model> gone;  // see aclmdlRICaptureEnd
  Guard guard(lock());
  Model* model = find_model(handle);
  if (!model) return refuse("aclmdlRIDestroy", kInvalidHandle, "unknown model");
  if (model->open) return refuse("aclmdlRIDestroy", kModelCaptured, "the model is still being captured");
  gone = std::move(models()[model->id]);
  models().erase(gone->id);
  return kSuccess;
}

ACL_API int aclmdlRIGetId(void* handle, uint32_t* id) {
  Guard guard(lock());
  Model* model = find_model(handle);
  if (!model) return refuse("aclmdlRIGetId", kInvalidHandle, "unknown model");
  *id = static_cast<uint32_t>(model->id);
  return kSuccess;
}

ACL_API int aclmdlRIDebugJsonPrint(void* handle, const char* path, uint32_t) {
  const char* function = "aclmdlRIDebugJsonPrint";
  std::string json;
  {
    Guard guard(lock());
    Model* model = find_model(handle);
    if (!model) return refuse(function, kInvalidHandle, "unknown model");
    json = "{\"model\":" + std::to_string(model->id) + ",\"tasks\":" + opkit_model_tasks(model->id) + "}\n";
  }
  FILE* file = fopen(path, "w");
  bool written = file && fputs(json.c_str(), file) >= 0;
  if (file) written = fclose(file) == 0 && written;
  return written ? kSuccess : refuse(function, 107010, std::string("cannot write ") + path);
}
