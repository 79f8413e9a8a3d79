// Handles that aclnn host code creates, and the launch of aclnn kernels.
#include "tensor.h"

#include "state.h"

using namespace opkit;

namespace {

struct Blob { std::vector<char> bytes; };
struct HandleList { std::vector<const void*> items; };

// Handles that are alive. Host code hands the same handle to be destroyed twice in places, which CANN bears.
std::set<const void*>& alive() {
  static auto* all = new std::set<const void*>();
  return *all;
}

template <class T>
T* keep(T* handle) {
  Guard guard(lock());
  alive().insert(handle);
  return handle;
}

template <class T>
int drop(const T* handle) {
  {
    Guard guard(lock());
    if (!alive().erase(handle)) return kInvalidParam;
  }
  delete handle;
  return kSuccess;
}

template <class Item>
int drop_list(const HandleList* list) {
  std::vector<const void*> items;
  {
    Guard guard(lock());
    if (!alive().count(list)) return kInvalidParam;
    items = list->items;
  }
  for (auto item : items) drop(static_cast<const Item*>(item));  // a list owns its items
  return drop(list);
}

template <class T>
Blob* blob(const T* values, uint64_t n) {
  auto at = reinterpret_cast<const char*>(values);
  return keep(new Blob{std::vector<char>(at, at + n * sizeof(T))});
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

ACL_API Blob* aclCreateScalar(void* value, int dtype) {
  return blob(static_cast<const char*>(value), std::max<size_t>(item_size(dtype), 1));
}
ACL_API Blob* aclCreateIntArray(const int64_t* values, uint64_t n) { return blob(values, n); }
ACL_API Blob* aclCreateFloatArray(const float* values, uint64_t n) { return blob(values, n); }
ACL_API Blob* aclCreateBoolArray(const bool* values, uint64_t n) { return blob(values, n); }
ACL_API HandleList* aclCreateTensorList(const AclTensor* const* items, uint64_t n) {
  return keep(new HandleList{{items, items + n}});
}
ACL_API HandleList* aclCreateScalarList(const Blob* const* items, uint64_t n) {
  return keep(new HandleList{{items, items + n}});
}

ACL_API int aclDestroyTensor(const AclTensor* handle) { return drop(handle); }
ACL_API int aclDestroyScalar(const Blob* handle) { return drop(handle); }
ACL_API int aclDestroyIntArray(const Blob* handle) { return drop(handle); }
ACL_API int aclDestroyFloatArray(const Blob* handle) { return drop(handle); }
ACL_API int aclDestroyBoolArray(const Blob* handle) { return drop(handle); }
ACL_API int aclDestroyTensorList(const HandleList* list) { return drop_list<AclTensor>(list); }
ACL_API int aclDestroyScalarList(const HandleList* list) { return drop_list<Blob>(list); }
ACL_API int aclDestroyAclOpExecutor(Executor*) { return kSuccess; }

// The second step of every aclnn kernel that is not computed here (the stubs call it, see symbols.py).
ACL_API int opkit_aclnn_launch(const char* name, void* stream) {
  std::string label = name;
  return submit(name, stream, {label, [=] { count_uncomputed(label); return 0; }});
}

// ---- the one aclnn kernel that is computed here ----------------------------------------------------------------------

ACL_API int aclnnInplaceCopyGetWorkspaceSize(AclTensor* destination, const AclTensor* source, uint64_t* workspace,
                                             Executor** executor) {
  if (!destination || !source) return refuse("aclnnInplaceCopy", kInvalidParam, "null tensor");
  *workspace = 0;
  *executor = new Executor{*destination, *source};
  return kSuccess;
}

ACL_API int aclnnInplaceCopy(void*, uint64_t, Executor* executor, void* stream) {
  std::shared_ptr<Executor> held(executor);
  return submit("aclnnInplaceCopy", stream, {"aclnnInplaceCopy", [held] {
    return copy_tensor(held->destination, held->source);
  }});
}
