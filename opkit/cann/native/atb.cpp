// libatb: operators that are objects. As with aclnn kernels a launch is a task of its stream and computes nothing. The
// classes are handled through their virtual functions, whose order is the interface's; torch_npu never derives from them.
#include "state.h"
#include "tensor.h"

#define ATB_API __attribute__((visibility("default")))

namespace atb {

using Status = int;
constexpr int kDims = 8;

struct Dims {
  int64_t dims[kDims];
  uint64_t rank;
};
struct TensorDesc {
  int dtype, format;
  Dims shape;
};
struct Tensor {
  TensorDesc desc;
  void* device;
  void* host;
  uint64_t bytes;
};

class Context {
 public:
  virtual ~Context() = default;
  virtual Status SetExecuteStream(void* stream) { return stream_ = stream, 0; }
  virtual void* GetExecuteStream() const { return stream_; }
  virtual Status SetAsyncTilingCopyStatus(bool enable) { return async_ = enable, 0; }
  virtual bool GetAsyncTilingCopyStatus() const { return async_; }

 private:
  void* stream_ = nullptr;
  bool async_ = false;
};

class VariantPack;  // its lists are private to ATB

// The tensors that this thread's host code has sized for its next operation: each once, inputs first.
thread_local std::vector<std::string> sized;
constexpr size_t kMostSized = 256;

std::string take_arguments() {
  std::string text = "[";
  for (const auto& tensor : sized) text += (text.size() > 1 ? "," : "") + tensor;
  sized.clear();
  return text + "]";
}

class Operation {
 public:
  explicit Operation(const char* name) : name_(name) {}
  virtual ~Operation() = default;
  virtual std::string GetName() const { return name_; }
  virtual Status InferShape(const void*, void*) const { return opkit::refuse("atb InferShape", opkit::kNotSupported, name_); }
  virtual uint32_t GetInputNum() const { return 0; }
  virtual uint32_t GetOutputNum() const { return 0; }
  virtual Status Setup(const VariantPack&, uint64_t& workspace, Context*) { return workspace = 0, 0; }
  virtual Status Execute(const VariantPack&, uint8_t*, uint64_t, Context* context) {
    void* stream = context ? context->GetExecuteStream() : nullptr;
    opkit::note_launch(name_, take_arguments(), stream);
    return opkit::submit_uncomputed("atb Execute", name_, stream);
  }

 private:
  std::string name_;
};

ATB_API Status CreateContext(Context** out) { return *out = new Context(), 0; }
ATB_API Status DestroyContext(Context* context) {
  delete context;
  return 0;
}
ATB_API Status DestroyOperation(Operation* operation) {
  delete operation;
  return 0;
}

class ATB_API Utils {
 public:
  static uint64_t GetTensorSize(const Tensor& tensor);
};
uint64_t Utils::GetTensorSize(const Tensor& tensor) {
  const Dims& shape = tensor.desc.shape;
  std::vector<int64_t> sizes(shape.dims, shape.dims + std::min<uint64_t>(shape.rank, kDims));
  uint64_t bytes = opkit::item_size(tensor.desc.dtype);
  for (int64_t size : sizes) bytes *= static_cast<uint64_t>(size);
  if (sized.size() == kMostSized) sized.clear();
  void* data = tensor.device ? tensor.device : tensor.host;
  sized.push_back("{\"kind\":\"tensor\",\"dtype\":" + opkit::quoted(opkit::dtype_name(tensor.desc.dtype)) +
                  ",\"shape\":" + opkit::json_numbers(sizes) + ",\"format\":" + std::to_string(tensor.desc.format) +
                  ",\"storage\":" + std::to_string(reinterpret_cast<uintptr_t>(data)) + "}");
  return bytes;
}

template <class Param>
Status CreateOperation(const Param& param, Operation** out);

#define OPERATION(name)                                                                  \
  namespace infer { struct name##Param; }                                                \
  template <>                                                                            \
  ATB_API Status CreateOperation(const infer::name##Param&, Operation** out) {           \
    return *out = new Operation("atb " #name), 0;                                        \
  }
OPERATION(Linear)
OPERATION(Elewise)
OPERATION(RmsNorm)
OPERATION(GroupTopk)
OPERATION(SelfAttention)
OPERATION(PagedAttention)
OPERATION(ReshapeAndCache)
OPERATION(Rope)

}  // namespace atb

// Kernels of libatb with the two steps of aclnn's, but for a context where those have a stream (see symbols.py).
ACL_API int opkit_aclnn_launch(const char* name, void* stream);
ACL_API int opkit_atb_launch(const char* name, void* context) {
  return opkit_aclnn_launch(name, static_cast<atb::Context*>(context)->GetExecuteStream());
}
