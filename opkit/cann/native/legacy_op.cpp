// Operators launched by type name (aclop*), the interface before aclnn. All but Identity compute nothing.
#include "state.h"
#include "tensor.h"

using namespace opkit;

namespace {

struct TensorDesc {
  int dtype, format, placement = 0;
  std::vector<int64_t> dims;
  std::string name;
};

struct DataBuffer {
  void* data;
  size_t size;
};

struct Attributes {
  std::set<std::string> names;
};

int name_attribute(Attributes* attributes, const char* name) {
  if (!attributes || !name) return refuse("aclopSetAttr", kInvalidParam, "null pointer");
  attributes->names.insert(name);
  return kSuccess;
}

}  // namespace

ACL_API TensorDesc* aclCreateTensorDesc(int dtype, int rank, const int64_t* dims, int format) {
  auto made = new TensorDesc{dtype, format, 0, {}, {}};
  if (dims && rank > 0) made->dims.assign(dims, dims + rank);
  return made;
}
ACL_API void aclDestroyTensorDesc(const TensorDesc* desc) { delete desc; }
ACL_API int aclGetTensorDescType(const TensorDesc* desc) { return desc->dtype; }
ACL_API int aclGetTensorDescFormat(const TensorDesc* desc) { return desc->format; }
ACL_API size_t aclGetTensorDescNumDims(const TensorDesc* desc) { return desc->dims.size(); }
ACL_API int aclGetTensorDescDimV2(const TensorDesc* desc, size_t index, int64_t* out) {
  if (index >= desc->dims.size()) return refuse("aclGetTensorDescDimV2", kInvalidParam, "no such dimension");
  return *out = desc->dims[index], kSuccess;
}
ACL_API void aclSetTensorDescName(TensorDesc* desc, const char* name) { desc->name = name ? name : ""; }
ACL_API int aclSetTensorFormat(TensorDesc* desc, int format) { return desc->format = format, kSuccess; }
ACL_API int aclSetTensorPlaceMent(TensorDesc* desc, int placement) { return desc->placement = placement, kSuccess; }
ACL_API int aclSetTensorShape(TensorDesc* desc, int rank, const int64_t* dims) {
  return desc->dims.assign(dims, dims + rank), kSuccess;
}

ACL_API DataBuffer* aclCreateDataBuffer(void* data, size_t size) { return new DataBuffer{data, size}; }
ACL_API int aclDestroyDataBuffer(const DataBuffer* buffer) {
  delete buffer;
  return kSuccess;
}

ACL_API Attributes* aclopCreateAttr() { return new Attributes(); }
ACL_API void aclopDestroyAttr(const Attributes* attributes) { delete attributes; }
ACL_API int aclopSetAttrBool(Attributes* a, const char* name, uint8_t) { return name_attribute(a, name); }
ACL_API int aclopSetAttrInt(Attributes* a, const char* name, int64_t) { return name_attribute(a, name); }
ACL_API int aclopSetAttrFloat(Attributes* a, const char* name, float) { return name_attribute(a, name); }
ACL_API int aclopSetAttrString(Attributes* a, const char* name, const char*) { return name_attribute(a, name); }
ACL_API int aclopSetAttrDataType(Attributes* a, const char* name, int) { return name_attribute(a, name); }
ACL_API int aclopSetAttrListBool(Attributes* a, const char* name, int, const void*) { return name_attribute(a, name); }
ACL_API int aclopSetAttrListInt(Attributes* a, const char* name, int, const void*) { return name_attribute(a, name); }
ACL_API int aclopSetAttrListFloat(Attributes* a, const char* name, int, const void*) { return name_attribute(a, name); }
ACL_API int aclopSetAttrListListInt(Attributes* a, const char* name, int, const void*, const void*) {
  return name_attribute(a, name);
}

namespace {
// Whether the memory of this description is laid out plainly (ND, NCHW, NHWC or unspecified).
bool plain(const TensorDesc* desc) { return desc->format >= -1 && desc->format <= 2; }

// An aclop knows no strides: its tensors are dense. Their names come from the host code, where it gives them.
std::string described(int n, const TensorDesc* const* descs, const DataBuffer* const* data, const char* kind) {
  std::string text;
  for (int i = 0; i < n; ++i) {
    text += (text.empty() ? "" : ",") + std::string("{\"kind\":\"") + kind + "\",\"name\":" + quoted(descs[i]->name) +
            ",\"dtype\":" + quoted(dtype_name(descs[i]->dtype)) + ",\"shape\":" + json_numbers(descs[i]->dims) +
            ",\"format\":" + std::to_string(descs[i]->format) +
            ",\"storage\":" + std::to_string(reinterpret_cast<uintptr_t>(data[i]->data)) + "}";
  }
  return text;
}
}  // namespace

ACL_API int aclopCompileAndExecute(const char* type, int n_in, const TensorDesc* const* in, const DataBuffer* const* data_in,
                                   int n_out, const TensorDesc* const* out, DataBuffer* const* data_out, const Attributes*,
                                   int, int, const char*, void* stream) {
  std::string label = std::string("aclop ") + (type ? type : "");
  std::string given = described(n_in, in, data_in, "input"), made = described(n_out, out, data_out, "output");
  note_launch(label, "[" + given + (given.empty() || made.empty() ? "" : ",") + made + "]", stream);
  if (label == "aclop Identity" && n_in == 1 && n_out == 1 && plain(in[0]) && plain(out[0]) &&
      in[0]->dtype == out[0]->dtype && in[0]->dims == out[0]->dims) {
    DataBuffer to = *data_out[0], from = *data_in[0];
    size_t bytes = std::min(to.size, from.size);
    return submit("aclopCompileAndExecute", stream, {label, [=] {
      memmove(to.data, from.data, bytes);
      carry_taint(to.data, from.data, bytes);
      return 0;
    }});
  }
  return submit_uncomputed("aclopCompileAndExecute", label, stream);
}

// This form gives back the outputs' shapes, which only the kernel knows.
ACL_API int aclopCompileAndExecuteV2(const char* type, int, TensorDesc**, DataBuffer**, int, TensorDesc**, DataBuffer**,
                                     Attributes*, int, int, const char*, void*) {
  return refuse("aclopCompileAndExecuteV2", kNotSupported,
                std::string("the output shapes of aclop ") + (type ? type : "") + " depend on values that nobody computes");
}
