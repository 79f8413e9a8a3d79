// ge:: value types: strings, shapes, descriptions and tensors.
#include "ge.h"

namespace ge {

AscendString::AscendString(const char* text) : text_(text ? std::make_shared<std::string>(text) : nullptr) {}
const char* AscendString::GetString() const { return text_ ? text_->c_str() : ""; }
bool AscendString::operator<(const AscendString& other) const {
  return std::string(GetString()) < std::string(other.GetString());
}
bool AscendString::operator==(const AscendString& other) const {
  return std::string(GetString()) == std::string(other.GetString());
}

Shape::Shape() : impl_(std::make_shared<ShapeImpl>()) {}
Shape::Shape(const std::vector<int64_t>& dims) : impl_(std::make_shared<ShapeImpl>(ShapeImpl{dims})) {}
std::vector<int64_t> Shape::GetDims() const { return impl_->dims; }

TensorDesc::TensorDesc() : impl_(std::make_shared<TensorDescImpl>()) {}
TensorDesc::TensorDesc(Shape shape, Format format, DataType dtype) : TensorDesc() {
  impl_->shape = std::move(shape);
  impl_->format = format;
  impl_->dtype = dtype;
}
TensorDesc::TensorDesc(const TensorDesc& other) : impl_(std::make_shared<TensorDescImpl>(*other.impl_)) {}
TensorDesc::TensorDesc(TensorDesc&& other) : TensorDesc(static_cast<const TensorDesc&>(other)) {}
TensorDesc& TensorDesc::operator=(const TensorDesc& other) {
  impl_ = std::make_shared<TensorDescImpl>(*other.impl_);
  return *this;
}
TensorDesc& TensorDesc::operator=(TensorDesc&& other) { return *this = static_cast<const TensorDesc&>(other); }
Shape TensorDesc::GetShape() const { return impl_->shape; }
void TensorDesc::SetShape(const Shape& shape) { impl_->shape = Shape(shape.GetDims()); }
Format TensorDesc::GetFormat() const { return impl_->format; }
void TensorDesc::SetFormat(Format format) { impl_->format = format; }
void TensorDesc::SetOriginShape(const Shape& shape) { impl_->origin_shape = Shape(shape.GetDims()); }
void TensorDesc::SetOriginFormat(Format format) { impl_->origin_format = format; }
DataType TensorDesc::GetDataType() const { return impl_->dtype; }
void TensorDesc::SetDataType(DataType dtype) { impl_->dtype = dtype; }
Placement TensorDesc::GetPlacement() const { return impl_->placement; }
void TensorDesc::SetPlacement(Placement placement) { impl_->placement = placement; }

struct TensorImpl {
  TensorDesc desc;
  std::vector<int64_t> dims, origin_dims;
  std::unique_ptr<uint8_t[], Tensor::Deleter> data{nullptr, [](uint8_t*) {}};
  size_t size = 0;
};

Tensor::Tensor() : impl_(std::make_shared<TensorImpl>()) {}
TensorDesc Tensor::GetTensorDesc() const {
  TensorDesc desc(impl_->desc);
  desc.SetShape(Shape(impl_->dims));
  return desc;
}
Status Tensor::SetTensorDesc(const TensorDesc& desc) {
  impl_->desc = desc;
  impl_->dims = desc.GetShape().GetDims();
  return kOk;
}
const uint8_t* Tensor::GetData() const { return impl_->data.get(); }
uint8_t* Tensor::GetData() { return impl_->data.get(); }
size_t Tensor::GetSize() const { return impl_->size; }
Status Tensor::SetData(uint8_t* data, size_t size, const Deleter& deleter) {
  impl_->data = std::unique_ptr<uint8_t[], Deleter>(data, deleter ? deleter : Deleter([](uint8_t*) {}));
  impl_->size = size;
  return kOk;
}
Status Tensor::ResetData(uint8_t* data, size_t size, const Deleter& deleter) { return SetData(data, size, deleter); }
std::unique_ptr<uint8_t[], Tensor::Deleter> Tensor::ResetData() {
  std::unique_ptr<uint8_t[], Deleter> data(nullptr, [](uint8_t*) {});
  data.swap(impl_->data);
  impl_->size = 0;
  return data;
}

Status Tensor::SetOriginShapeDimNum(size_t rank) { return impl_->origin_dims.resize(rank), kOk; }
size_t Tensor::GetOriginShapeDimNum() const { return impl_->origin_dims.size(); }
Status Tensor::SetOriginShapeDim(size_t index, int64_t value) {
  if (index >= impl_->origin_dims.size()) return kFailed;
  return impl_->origin_dims[index] = value, kOk;
}
int64_t Tensor::GetOriginShapeDim(size_t index) const {
  return index < impl_->origin_dims.size() ? impl_->origin_dims[index] : 0;
}
Status Tensor::SetShapeDimNum(size_t rank) { return impl_->dims.resize(rank), kOk; }
size_t Tensor::GetShapeDimNum() const { return impl_->dims.size(); }
Status Tensor::SetShapeDim(size_t index, int64_t value) {
  if (index >= impl_->dims.size()) return kFailed;
  return impl_->dims[index] = value, kOk;
}
int64_t Tensor::GetShapeDim(size_t index) const { return index < impl_->dims.size() ? impl_->dims[index] : 0; }
Status Tensor::SetFormat(const Format& format) { return impl_->desc.SetFormat(format), kOk; }
Format Tensor::GetFormat() const { return impl_->desc.GetFormat(); }
Status Tensor::SetOriginFormat(const Format& format) { return impl_->desc.SetOriginFormat(format), kOk; }
Status Tensor::SetDataType(const DataType& dtype) { return impl_->desc.SetDataType(dtype), kOk; }
DataType Tensor::GetDataType() const { return impl_->desc.GetDataType(); }
Status Tensor::SetPlacement(const Placement& placement) { return impl_->desc.SetPlacement(placement), kOk; }
Placement Tensor::GetPlacement() const { return impl_->desc.GetPlacement(); }

}  // namespace ge
