// The GE classes that cross the C++ boundary of libge_runner and libgraph, declared with the layout that callers rely on:
// each is one shared pointer (ge::Operator has a virtual table before it). Only what the wheels use is declared.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#define GE_API __attribute__((visibility("default")))

namespace ge {

using Status = uint32_t;
enum DataType : int {};
enum Format : int {};
enum Placement : int {};
constexpr Status kOk = 0, kFailed = 0xFFFFFFFF;

class GE_API AscendString {
 public:
  AscendString() = default;
  AscendString(const char* text);
  const char* GetString() const;
  bool operator<(const AscendString& other) const;
  bool operator==(const AscendString& other) const;

 private:
  std::shared_ptr<std::string> text_;
};

using Options = std::map<AscendString, AscendString>;

struct ShapeImpl { std::vector<int64_t> dims; };
class GE_API Shape {
 public:
  Shape();
  explicit Shape(const std::vector<int64_t>& dims);
  std::vector<int64_t> GetDims() const;

 private:
  std::shared_ptr<ShapeImpl> impl_;
};

struct TensorDescImpl {
  Shape shape, origin_shape;
  Format format{}, origin_format{};
  DataType dtype{};
  Placement placement{};
};
class GE_API TensorDesc {
 public:
  TensorDesc();
  TensorDesc(const TensorDesc& other);
  TensorDesc(TensorDesc&& other);
  TensorDesc& operator=(const TensorDesc& other);
  TensorDesc& operator=(TensorDesc&& other);
  explicit TensorDesc(Shape shape, Format format = Format(2), DataType dtype = DataType(0));
  Shape GetShape() const;
  void SetShape(const Shape& shape);
  Format GetFormat() const;
  void SetFormat(Format format);
  void SetOriginShape(const Shape& shape);
  void SetOriginFormat(Format format);
  DataType GetDataType() const;
  void SetDataType(DataType dtype);
  Placement GetPlacement() const;
  void SetPlacement(Placement placement);

 private:
  std::shared_ptr<TensorDescImpl> impl_;
};

struct TensorImpl;
class GE_API Tensor {
 public:
  using Deleter = std::function<void(uint8_t*)>;
  Tensor();
  TensorDesc GetTensorDesc() const;
  Status SetTensorDesc(const TensorDesc& desc);
  const uint8_t* GetData() const;
  uint8_t* GetData();
  size_t GetSize() const;
  Status SetData(uint8_t* data, size_t size, const Deleter& deleter);
  Status ResetData(uint8_t* data, size_t size, const Deleter& deleter);
  std::unique_ptr<uint8_t[], Deleter> ResetData();
  Status SetOriginShapeDimNum(size_t rank);
  size_t GetOriginShapeDimNum() const;
  Status SetOriginShapeDim(size_t index, int64_t value);
  int64_t GetOriginShapeDim(size_t index) const;
  Status SetShapeDimNum(size_t rank);
  size_t GetShapeDimNum() const;
  Status SetShapeDim(size_t index, int64_t value);
  int64_t GetShapeDim(size_t index) const;
  Status SetFormat(const Format& format);
  Format GetFormat() const;
  Status SetOriginFormat(const Format& format);
  Status SetDataType(const DataType& dtype);
  DataType GetDataType() const;
  Status SetPlacement(const Placement& placement);
  Placement GetPlacement() const;

 private:
  std::shared_ptr<TensorImpl> impl_;
};

struct GraphImpl {
  std::string name, bytes;
};
class GE_API GNode {
 public:
  explicit GNode(const std::string& type);
  Status GetType(AscendString& out) const;

 private:
  std::shared_ptr<std::string> type_;
};
class GE_API Graph {
 public:
  Graph() = default;
  explicit Graph(const char* name);
  Status LoadFromSerializedModelArray(const void* data, size_t size);
  std::vector<GNode> GetAllNodes() const;
  Status SaveToFile(const char* path) const;
  Status CopyFrom(const Graph& other);
  const std::shared_ptr<GraphImpl>& impl() const { return impl_; }

 private:
  std::shared_ptr<GraphImpl> impl_;
};

struct SummaryImpl {
  bool is_static = false;
  std::vector<DataType> dtypes;
  std::vector<std::vector<int64_t>> shapes;
};
class GE_API CompiledGraphSummary {
 public:
  bool IsStatic() const;
  Status GetConstMemorySize(size_t& size) const;
  Status GetFeatureMemorySize(size_t& size) const;
  Status GetFixedFeatureMemorySize(size_t& size) const;
  Status GetFeatureMemoryBaseRefreshable(bool& refreshable) const;
  Status GetOutputShapes(std::vector<Shape>& shapes) const;
  Status GetOutputDtypes(std::vector<DataType>& dtypes) const;
  std::shared_ptr<SummaryImpl> impl;
};

class Allocator;
class GE_API Session {
 public:
  explicit Session(const Options& options);
  ~Session();
  Status AddGraph(uint32_t id, const Graph& graph, const Options& options);
  Status RemoveGraph(uint32_t id);
  Status CompileGraph(uint32_t id);
  std::shared_ptr<CompiledGraphSummary> GetCompiledGraphSummary(uint32_t id);
  Status RunGraph(uint32_t id, const std::vector<Tensor>& inputs, std::vector<Tensor>& outputs);
  Status RunGraphWithStreamAsync(uint32_t id, void* stream, const std::vector<Tensor>& inputs,
                                 std::vector<Tensor>& outputs);
  Status SetGraphConstMemoryBase(uint32_t id, const void* memory, size_t size);
  Status UpdateGraphFeatureMemoryBase(uint32_t id, const void* memory, size_t size);
  Status SetGraphFixedFeatureMemoryBase(uint32_t id, const void* memory, size_t size);
  Status UpdateGraphRefreshableFeatureMemoryBase(uint32_t id, const void* memory, size_t size);
  Status RegisterExternalAllocator(const void* stream, std::shared_ptr<Allocator> allocator) const;

 private:
  uint64_t id_;
};

struct OperatorImpl {
  std::string name, type;
};
class GE_API Operator {
 public:
  virtual ~Operator() = default;
  Status UpdateInputDesc(const char* name, const TensorDesc& desc);
  Status GetAllIrAttrNamesAndTypes(Options& attributes) const;
  std::shared_ptr<OperatorImpl> impl;
};
class GE_API OperatorFactory {
 public:
  static Operator CreateOperator(const char* name, const char* type);
  static bool IsExistOp(const char* type);
};

}  // namespace ge
