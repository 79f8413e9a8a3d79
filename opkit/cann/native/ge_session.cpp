// GE: graphs are kept as they were serialized; Python describes and interprets them through the callbacks.
#include "ge.h"
#include "state.h"
#include "tensor.h"

using namespace opkit;

namespace {

struct Compiled {
  uint64_t key = 0;  // unique in the process, what Python knows the graph by
  std::string name, bytes;
  std::shared_ptr<ge::CompiledGraphSummary> summary;
};

struct Call {
  std::vector<ge::Tensor> outputs;
};

std::map<std::pair<uint64_t, uint32_t>, std::shared_ptr<Compiled>>& graphs() {
  static auto* all = new std::map<std::pair<uint64_t, uint32_t>, std::shared_ptr<Compiled>>();
  return *all;
}

uint64_t next_session = 1, next_graph = 1;
opkit_ge_info_fn on_info = nullptr;
opkit_ge_run_fn on_run = nullptr;
opkit_ge_remove_fn on_remove = nullptr;

ge::Status fail(const char* function, const std::string& reason) {
  // A reason that the callback has set already says more than ours.
  std::string said = take_error();
  refuse(function, kInternalError, said.empty() ? reason : said);
  return ge::kFailed;
}

std::shared_ptr<Compiled> find(uint64_t session, uint32_t id) {
  Guard guard(lock());
  auto found = graphs().find({session, id});
  return found == graphs().end() ? nullptr : found->second;
}

// The bytes that the tensor's shape takes. torchair tells the size again only when the address changes, so the size that
// it told first may be that of an earlier shape.
size_t bytes_of(const ge::Tensor& tensor, const std::vector<int64_t>& dims) {
  size_t bytes = item_size(tensor.GetDataType());
  if (!bytes) return tensor.GetSize();
  for (int64_t dim : dims) bytes *= static_cast<size_t>(dim);
  return bytes;
}

// Dimensions are kept beside the tensors they describe while the callback runs.
std::vector<opkit_tensor> describe(const std::vector<ge::Tensor>& tensors, std::vector<std::vector<int64_t>>* dims) {
  std::vector<opkit_tensor> all;
  dims->reserve(tensors.size());
  for (auto& tensor : tensors) {
    std::vector<int64_t> shape;
    for (size_t i = 0; i < tensor.GetShapeDimNum(); ++i) shape.push_back(tensor.GetShapeDim(i));
    dims->push_back(std::move(shape));
    const auto& kept = dims->back();
    all.push_back({const_cast<uint8_t*>(tensor.GetData()), tensor.GetData() ? bytes_of(tensor, kept) : 0,
                   tensor.GetDataType(), static_cast<int32_t>(kept.size()), kept.data()});
  }
  return all;
}

ge::Status run_graph(const char* function, uint64_t session, uint32_t id, const std::vector<ge::Tensor>& inputs,
                     std::vector<ge::Tensor>& outputs) {
  auto graph = find(session, id);
  if (!graph) return fail(function, "no graph " + std::to_string(id) + " in this session");
  if (!on_run) return fail(function, "the stand-in runs a GE graph only when an interpreter is set (opkit_set_ge_callbacks)");
  std::vector<std::vector<int64_t>> in_dims, out_dims;
  auto in = describe(inputs, &in_dims), out = describe(outputs, &out_dims);
  Call call{outputs};
  set_error("");
  note("ge_run", graph->name, graph->key);
  if (on_run(graph->key, in.data(), in.size(), out.data(), out.size(), &call)) {
    return fail(function, "the interpreter of GE graphs failed on graph " + graph->name);
  }
  for (auto& output : call.outputs) {
    if (!output.GetData()) return fail(function, "the interpreter left an output unallocated");
  }
  outputs = std::move(call.outputs);
  return ge::kOk;
}

}  // namespace

ACL_API void opkit_set_ge_callbacks(opkit_ge_info_fn info, opkit_ge_run_fn run, opkit_ge_remove_fn remove) {
  Guard guard(lock());
  on_info = info;
  on_run = run;
  on_remove = remove;
}

ACL_API void opkit_ge_describe_output(void* summary, int32_t dtype, const int64_t* dims, int32_t rank) {
  auto impl = static_cast<ge::SummaryImpl*>(summary);
  impl->dtypes.push_back(static_cast<ge::DataType>(dtype));
  impl->shapes.emplace_back(dims, dims + rank);
}

ACL_API void* opkit_ge_allocate_output(void* handle, size_t index, int32_t dtype, const int64_t* dims, int32_t rank,
                                       size_t bytes) {
  auto& outputs = static_cast<Call*>(handle)->outputs;
  if (index < outputs.size() && outputs[index].GetData()) return nullptr;
  void* data = allocate_device(bytes);
  if (!data) return nullptr;
  ge::Tensor tensor;
  tensor.SetTensorDesc(ge::TensorDesc(ge::Shape(std::vector<int64_t>(dims, dims + rank)), ge::Format(2),
                                      static_cast<ge::DataType>(dtype)));
  tensor.SetPlacement(ge::Placement(1));
  tensor.SetData(static_cast<uint8_t*>(data), bytes, [](uint8_t* at) { free_device(at); });
  if (index >= outputs.size()) outputs.resize(index + 1);
  outputs[index] = tensor;
  return data;
}

// Found by dlsym under this plain name.
ACL_API ge::Status GetRegisteredIrDef(const char* op, std::vector<std::pair<ge::AscendString, ge::AscendString>>& inputs,
                                      std::vector<std::pair<ge::AscendString, ge::AscendString>>& outputs,
                                      std::vector<std::pair<ge::AscendString, ge::AscendString>>& attributes) {
  const Prototype* prototype = find_prototype(op ? op : "");
  if (!prototype) {
    refuse("GetRegisteredIrDef", kParamInvalid, std::string("no Ascend IR prototype ") + (op ? op : "null"));
    return ge::kFailed;
  }
  auto copy = [](const std::vector<std::pair<std::string, std::string>>& from, auto& to) {
    for (auto& item : from) to.emplace_back(ge::AscendString(item.first.c_str()), ge::AscendString(item.second.c_str()));
  };
  copy(prototype->inputs, inputs);
  copy(prototype->outputs, outputs);
  copy(prototype->attrs, attributes);
  return ge::kOk;
}

namespace ge {

GE_API Status GEInitialize(const Options&) { return kOk; }
GE_API Status GEFinalize() { return kOk; }
GE_API AscendString GEGetWarningMsgV2() { return AscendString(""); }

Session::Session(const Options&) {
  Guard guard(lock());
  id_ = next_session++;
}
Session::~Session() {
  Guard guard(lock());
  for (auto at = graphs().begin(); at != graphs().end();) at = at->first.first == id_ ? graphs().erase(at) : std::next(at);
}

Status Session::AddGraph(uint32_t id, const Graph& graph, const Options&) {
  if (!graph.impl()) return fail("ge::Session::AddGraph", "the graph is empty");
  Guard guard(lock());
  auto added = std::make_shared<Compiled>();
  added->key = next_graph++;
  added->name = graph.impl()->name;
  added->bytes = graph.impl()->bytes;
  note("ge_load", added->name, added->key);
  graphs()[{id_, id}] = added;
  return kOk;
}

Status Session::RemoveGraph(uint32_t id) {
  auto graph = find(id_, id);
  if (!graph) return fail("ge::Session::RemoveGraph", "no such graph");
  {
    Guard guard(lock());
    graphs().erase({id_, id});
  }
  if (on_remove) on_remove(graph->key);
  return kOk;
}

Status Session::CompileGraph(uint32_t id) {
  auto graph = find(id_, id);
  if (!graph) return fail("ge::Session::CompileGraph", "no such graph");
  if (!on_info) {
    return fail("ge::Session::CompileGraph",
                "the stand-in compiles a GE graph only when an interpreter is set (opkit_set_ge_callbacks)");
  }
  auto impl = std::make_shared<SummaryImpl>();
  set_error("");
  int kind = on_info(graph->key, graph->bytes.data(), graph->bytes.size(), impl.get());
  if (kind != 0 && kind != 1) return fail("ge::Session::CompileGraph", "the interpreter refused graph " + graph->name);
  impl->is_static = kind == 0;
  graph->summary = std::make_shared<CompiledGraphSummary>();
  graph->summary->impl = impl;
  return kOk;
}

std::shared_ptr<CompiledGraphSummary> Session::GetCompiledGraphSummary(uint32_t id) {
  auto graph = find(id_, id);
  if (!graph || !graph->summary) fail("ge::Session::GetCompiledGraphSummary", "the graph is not compiled");
  return graph ? graph->summary : nullptr;
}

Status Session::RunGraph(uint32_t id, const std::vector<Tensor>& inputs, std::vector<Tensor>& outputs) {
  return run_graph("ge::Session::RunGraph", id_, id, inputs, outputs);
}

Status Session::RunGraphWithStreamAsync(uint32_t id, void* stream, const std::vector<Tensor>& inputs,
                                        std::vector<Tensor>& outputs) {
  const char* function = "ge::Session::RunGraphWithStreamAsync";
  if (Stream* known = find_stream(stream)) {
    Guard guard(lock());
    if (known->capture) {
      invalidate(known->capture, "a GE graph was run on the captured stream");
      return fail(function, "the stand-in cannot capture the run of a GE graph");
    }
    if (!known->queue.empty()) return fail(function, "the stream waits for an event that nobody has recorded");
  }
  return run_graph(function, id_, id, inputs, outputs);
}

// The stand-in gives a compiled graph no memory of its own, and says so in its summary (all sizes are 0).
Status Session::SetGraphConstMemoryBase(uint32_t, const void*, size_t) { return kOk; }
Status Session::UpdateGraphFeatureMemoryBase(uint32_t, const void*, size_t) { return kOk; }
Status Session::SetGraphFixedFeatureMemoryBase(uint32_t, const void*, size_t) { return kOk; }
Status Session::UpdateGraphRefreshableFeatureMemoryBase(uint32_t, const void*, size_t) { return kOk; }
Status Session::RegisterExternalAllocator(const void*, std::shared_ptr<Allocator>) const { return kOk; }

bool CompiledGraphSummary::IsStatic() const { return impl->is_static; }
Status CompiledGraphSummary::GetConstMemorySize(size_t& size) const { return size = 0, kOk; }
Status CompiledGraphSummary::GetFeatureMemorySize(size_t& size) const { return size = 0, kOk; }
Status CompiledGraphSummary::GetFixedFeatureMemorySize(size_t& size) const { return size = 0, kOk; }
Status CompiledGraphSummary::GetFeatureMemoryBaseRefreshable(bool& refreshable) const { return refreshable = true, kOk; }
Status CompiledGraphSummary::GetOutputShapes(std::vector<Shape>& shapes) const {
  for (auto& dims : impl->shapes) shapes.emplace_back(dims);
  return kOk;
}
Status CompiledGraphSummary::GetOutputDtypes(std::vector<DataType>& dtypes) const {
  return dtypes = impl->dtypes, kOk;
}

// ---- operators, only for the question whether this CANN knows an operator, input or attribute ------------------------

bool OperatorFactory::IsExistOp(const char* type) { return find_prototype(type ? type : "") != nullptr; }
Operator OperatorFactory::CreateOperator(const char* name, const char* type) {
  Operator made;
  if (IsExistOp(type)) made.impl = std::make_shared<OperatorImpl>(OperatorImpl{name ? name : "", type});
  return made;
}
Status Operator::UpdateInputDesc(const char* name, const TensorDesc&) {
  const Prototype* prototype = impl ? find_prototype(impl->type) : nullptr;
  if (!prototype) return kFailed;
  for (auto& input : prototype->inputs) {
    if (input.first == name) return kOk;
  }
  return kFailed;
}
Status Operator::GetAllIrAttrNamesAndTypes(Options& attributes) const {
  const Prototype* prototype = impl ? find_prototype(impl->type) : nullptr;
  if (!prototype) return kFailed;
  for (auto& item : prototype->attrs) attributes[AscendString(item.first.c_str())] = AscendString(item.second.c_str());
  return kOk;
}

}  // namespace ge
