// The descriptions of tensors that host code hands to aclnn kernels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace opkit {

struct AclTensor {
  std::vector<int64_t> sizes, strides, storage;
  int dtype = 0;
  int64_t offset = 0;  // in elements
  int format = 0;
  void* data = nullptr;
};

struct Executor {
  AclTensor destination, source;
};

std::size_t item_size(int dtype);  // 0 for a type that has no whole number of bytes or is not known
// Copies with conversion. Sizes of `source` must broadcast to those of `destination`. 0, or an ACL code.
int copy_tensor(const AclTensor& destination, const AclTensor& source);

}  // namespace opkit
