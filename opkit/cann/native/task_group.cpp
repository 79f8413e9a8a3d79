// Task groups: a range of captured tasks whose parameters may be replaced between replays.
#include "state.h"

using namespace opkit;

ACL_API int aclmdlRICaptureTaskGrpBegin(void* handle) {
  const char* function = "aclmdlRICaptureTaskGrpBegin";
  Guard guard(lock());
  Model* model = open_capture(find_stream(handle));
  if (!model) return refuse(function, kStreamNotCaptured, "the stream is not being captured");
  if (model->group_begin >= 0) return refuse(function, kTaskGroupStatus, "a task group is open already");
  model->group_begin = static_cast<int64_t>(model->tasks.size());
  return kSuccess;
}

ACL_API int aclmdlRICaptureTaskGrpEnd(void* handle, void** out) {
  const char* function = "aclmdlRICaptureTaskGrpEnd";
  Guard guard(lock());
  Model* model = open_capture(find_stream(handle));
  if (!model) return refuse(function, kStreamNotCaptured, "the stream is not being captured");
  if (model->group_begin < 0) return refuse(function, kTaskGroupStatus, "no task group is open");
  std::unique_ptr<TaskGroup> group(new TaskGroup());
  group->first = static_cast<size_t>(model->group_begin);
  group->last = model->tasks.size();
  group->model = model;
  model->group_begin = -1;
  *out = group.get();
  model->groups.push_back(std::move(group));
  return kSuccess;
}

ACL_API int aclmdlRICaptureTaskUpdateBegin(void* handle, void* group_handle) {
  const char* function = "aclmdlRICaptureTaskUpdateBegin";
  Guard guard(lock());
  Stream* stream = find_stream(handle);
  if (!stream) return refuse(function, kInvalidHandle, "unknown stream");
  if (stream->capture) return refuse(function, kStreamCaptured, "the stream is being captured");
  if (stream->updating) return refuse(function, kTaskGroupStatus, "an update is open on this stream already");
  for (auto& entry : models()) {
    for (auto& group : entry.second->groups) {
      if (group.get() != group_handle) continue;
      if (entry.second->open) return refuse(function, kModelCaptured, "the model is still being captured");
      stream->updating = group.get();
      stream->updates.clear();
      return kSuccess;
    }
  }
  return refuse(function, kInvalidHandle, "unknown task group");
}

ACL_API int aclmdlRICaptureTaskUpdateEnd(void* handle) {
  const char* function = "aclmdlRICaptureTaskUpdateEnd";
  std::vector<Task> updates, old;
  Guard guard(lock());
  Stream* stream = find_stream(handle);
  if (!stream || !stream->updating) return refuse(function, kTaskGroupStatus, "no update is open on this stream");
  TaskGroup* group = stream->updating;
  stream->updating = nullptr;
  updates.swap(stream->updates);
  bool same = updates.size() == group->last - group->first;
  for (size_t i = 0; same && i < updates.size(); ++i) {
    const Task& before = group->model->tasks[group->first + i];
    same = updates[i].name == before.name && !updates[i].token == !before.token;
  }
  if (!same) {
    return refuse(function, kModelUpdateFailed, "the update must launch the same kernels in the same order as the group");
  }
  for (size_t i = 0; i < updates.size(); ++i) std::swap(group->model->tasks[group->first + i], updates[i]);
  return kSuccess;
}
