// The descriptions of arguments that host code hands to aclnn kernels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace opkit {

std::size_t item_size(int dtype);  // 0 for a type that has no whole number of bytes or is not known
std::string dtype_name(int dtype);

// Whatever aclCreate* gives. json() says what a report shows of it.
struct Handle {
  virtual ~Handle() = default;
  virtual std::string json() const = 0;
};

std::string json_number(double value);  // NaN and the infinities as strings
std::string json_number(int64_t value);
inline std::string json_number(bool value) { return value ? "true" : "false"; }
inline std::string json_number(float value) { return json_number(static_cast<double>(value)); }
std::string json_element(int dtype, const char* at);  // the number that lies at an address
std::string json_numbers(const std::vector<int64_t>& values);
std::string json_list(const std::vector<const Handle*>& items);

struct AclTensor : Handle {
  std::vector<int64_t> sizes, strides, storage;
  int dtype = 0;
  int64_t offset = 0;  // in elements
  int format = 0;
  void* data = nullptr;
  std::string json() const override;
};

struct AclScalar : Handle {
  int dtype;
  char bytes[16] = {};
  AclScalar(int type, const void* value);
  std::string json() const override;
};

struct AclArray : Handle {
  std::vector<char> values;  // where the caller's kernels would look
  std::string text;
  template <class T>
  AclArray(const char* kind, const T* from, uint64_t n);
  std::string json() const override { return text; }
};

struct HandleList : Handle {
  std::vector<const Handle*> items;
  explicit HandleList(std::vector<const Handle*> all) : items(std::move(all)) {}
  std::string json() const override { return "{\"kind\":\"list\",\"items\":" + json_list(items) + "}"; }
};

struct Executor {
  AclTensor destination, source;
};

// Copies with conversion. Sizes of `source` must broadcast to those of `destination`. 0, or an ACL code.
int copy_tensor(const AclTensor& destination, const AclTensor& source);

template <class T>
AclArray::AclArray(const char* kind, const T* from, uint64_t n) {
  auto at = reinterpret_cast<const char*>(from);
  values.assign(at, at + n * sizeof(T));
  text = std::string("{\"kind\":\"") + kind + "\",\"value\":[";
  for (uint64_t i = 0; i < n; ++i) text += (i ? "," : "") + json_number(from[i]);
  text += "]}";
}

}  // namespace opkit
