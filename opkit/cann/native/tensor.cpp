// Handles that aclnn host code creates, and the launch of aclnn kernels.
#include "tensor.h"

#include <algorithm>
#include <cstdarg>

#include "state.h"

using namespace opkit;

namespace {

// Handles that are alive. Host code hands the same handle to be destroyed twice in places, which CANN bears.
std::set<const Handle*>& alive() {
  static auto* all = new std::set<const Handle*>();
  return *all;
}

// What this thread has created since it last asked for a workspace: the arguments of its next kernel.
thread_local std::vector<const Handle*> created;
constexpr size_t kMostCreated = 4096;  // handles that no kernel takes are forgotten
thread_local std::string next_kernel, next_arguments;

template <class T>
T* keep(T* handle) {
  {
    Guard guard(lock());
    alive().insert(handle);
  }
  if (created.size() == kMostCreated) created.clear();
  created.push_back(handle);
  return handle;
}

int drop(const Handle* handle) {
  {
    Guard guard(lock());
    if (!alive().erase(handle)) return kInvalidParam;
  }
  created.erase(std::remove(created.begin(), created.end(), handle), created.end());
  delete handle;
  return kSuccess;
}

int drop_list(const HandleList* list) {
  std::vector<const Handle*> items;
  {
    Guard guard(lock());
    if (!alive().count(list)) return kInvalidParam;
    items = list->items;
  }
  for (auto item : items) drop(item);  // a list owns its items
  return drop(list);
}

template <class T>
HandleList* keep_list(const T* const* items, uint64_t n) {
  for (uint64_t i = 0; i < n; ++i) created.erase(std::remove(created.begin(), created.end(), items[i]), created.end());
  return keep(new HandleList(std::vector<const Handle*>(items, items + n)));
}

}  // namespace

ACL_API AclTensor* aclCreateTensor(const int64_t* sizes, uint64_t rank, int dtype, const int64_t* strides, int64_t offset,
                                   int format, const int64_t* storage, uint64_t storage_rank, void* data) {
  auto tensor = new AclTensor();
  if (sizes) tensor->sizes.assign(sizes, sizes + rank);
  if (strides) tensor->strides.assign(strides, strides + rank);
  if (storage) tensor->storage.assign(storage, storage + storage_rank);
  tensor->dtype = dtype;
  tensor->offset = offset;
  tensor->format = format;
  tensor->data = data;
  return keep(tensor);
}

ACL_API int aclGetViewShape(const AclTensor* tensor, int64_t** out, uint64_t* rank) {
  if (!tensor || !out || !rank) return refuse("aclGetViewShape", kInvalidParam, "null pointer");
  *out = new int64_t[tensor->sizes.size() + 1];  // the caller owns it, as on CANN
  std::copy(tensor->sizes.begin(), tensor->sizes.end(), *out);
  *rank = tensor->sizes.size();
  return kSuccess;
}

ACL_API AclScalar* aclCreateScalar(void* value, int dtype) { return keep(new AclScalar(dtype, value)); }
ACL_API AclArray* aclCreateIntArray(const int64_t* values, uint64_t n) { return keep(new AclArray("ints", values, n)); }
ACL_API AclArray* aclCreateFloatArray(const float* values, uint64_t n) { return keep(new AclArray("floats", values, n)); }
ACL_API AclArray* aclCreateBoolArray(const bool* values, uint64_t n) { return keep(new AclArray("bools", values, n)); }
ACL_API HandleList* aclCreateTensorList(const AclTensor* const* items, uint64_t n) { return keep_list(items, n); }
ACL_API HandleList* aclCreateScalarList(const AclScalar* const* items, uint64_t n) { return keep_list(items, n); }

ACL_API int aclDestroyTensor(const AclTensor* handle) { return drop(handle); }
ACL_API int aclDestroyScalar(const AclScalar* handle) { return drop(handle); }
ACL_API int aclDestroyIntArray(const AclArray* handle) { return drop(handle); }
ACL_API int aclDestroyFloatArray(const AclArray* handle) { return drop(handle); }
ACL_API int aclDestroyBoolArray(const AclArray* handle) { return drop(handle); }
ACL_API int aclDestroyTensorList(const HandleList* list) { return drop_list(list); }
ACL_API int aclDestroyScalarList(const HandleList* list) { return drop_list(list); }
ACL_API int aclDestroyAclOpExecutor(Executor*) { return kSuccess; }

// The first step of every aclnn kernel that is not computed here (the stubs call it, see symbols.py). A kernel's
// prototype is not known, but its handles are: the words it was given are searched for them, for their order. Host code
// converts all arguments before this call, in an order of the compiler's choice.
ACL_API void opkit_aclnn_prepare(const char* name, uint64_t first, va_list rest) {
  constexpr int kMostWords = 96;
  std::vector<const Handle*> waiting, ordered;
  waiting.swap(created);
  uint64_t word = first;
  for (int i = 0; i < kMostWords && !waiting.empty(); ++i, word = va_arg(rest, uint64_t)) {
    auto found = std::find(waiting.begin(), waiting.end(), reinterpret_cast<const Handle*>(word));
    if (found == waiting.end()) continue;
    ordered.push_back(*found);
    waiting.erase(found);
  }
  ordered.insert(ordered.end(), waiting.begin(), waiting.end());
  next_kernel = name;
  next_arguments = json_list(ordered);
}

// The second step of every aclnn kernel that is not computed here (the stubs call it, see symbols.py).
ACL_API int opkit_aclnn_launch(const char* name, void* stream) {
  std::string label = name, arguments = "[]";
  if (label == next_kernel) arguments.swap(next_arguments);
  next_kernel.clear();
  note_launch(label, arguments, stream);
  return submit_uncomputed(name, label, stream);
}

// ---- the one aclnn kernel that is computed here ----------------------------------------------------------------------

ACL_API int aclnnInplaceCopyGetWorkspaceSize(AclTensor* destination, const AclTensor* source, uint64_t* workspace,
                                             Executor** executor) {
  if (!destination || !source) return refuse("aclnnInplaceCopy", kInvalidParam, "null tensor");
  created.clear();
  *workspace = 0;
  *executor = new Executor{*destination, *source};
  return kSuccess;
}

ACL_API int aclnnInplaceCopy(void*, uint64_t, Executor* executor, void* stream) {
  std::shared_ptr<Executor> held(executor);
  note_launch("aclnnInplaceCopy", "[" + held->destination.json() + "," + held->source.json() + "]", stream);
  return submit("aclnnInplaceCopy", stream, {"aclnnInplaceCopy", [held] {
    return copy_tensor(held->destination, held->source);
  }});
}
