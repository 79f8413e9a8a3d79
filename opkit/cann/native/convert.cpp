// Strided copy between tensors of any of the common element types.
#include <cmath>
#include <complex>

#include "state.h"
#include "tensor.h"

namespace opkit {

namespace {

// Numbers of aclDataType, which equal those of ge::DataType.
enum Type : int {
  kFloat = 0, kHalf = 1, kInt8 = 2, kInt32 = 3, kUint8 = 4, kInt16 = 6, kUint16 = 7, kUint32 = 8, kInt64 = 9,
  kUint64 = 10, kDouble = 11, kBool = 12, kComplex64 = 16, kComplex128 = 17, kBfloat16 = 27, kComplex32 = 33,
  kHifloat8 = 34, kFloat8E5M2 = 35, kFloat8E4M3 = 36, kFloat8E8M0 = 37,
};

float half_to_float(uint16_t h) {
  uint32_t sign = (h & 0x8000u) << 16, exponent = (h >> 10) & 0x1F, mantissa = h & 0x3FFu, bits;
  if (exponent == 0x1F) {
    bits = sign | 0x7F800000u | (mantissa << 13);
  } else if (exponent) {
    bits = sign | ((exponent + 112) << 23) | (mantissa << 13);
  } else {
    float value = std::ldexp(static_cast<float>(mantissa), -24);
    return sign ? -value : value;
  }
  float value;
  memcpy(&value, &bits, 4);
  return value;
}

// Round to nearest even. From double, so that a value is rounded once.
uint16_t half_from_double(double value) {
  uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  if (std::isnan(value)) return sign | 0x7E00;
  double size = std::fabs(value);
  if (size >= 65520.0) return sign | 0x7C00;
  if (size == 0.0) return sign;
  int exponent;
  std::frexp(size, &exponent);
  exponent = std::max(exponent, -13);  // below that, subnormal: the step no longer shrinks
  auto steps = static_cast<uint32_t>(std::nearbyint(std::ldexp(size, 11 - exponent)));
  return static_cast<uint16_t>(sign | (((exponent + 13) << 10) + steps));
}

float bfloat_to_float(uint16_t b) {
  uint32_t bits = static_cast<uint32_t>(b) << 16;
  float value;
  memcpy(&value, &bits, 4);
  return value;
}

uint16_t bfloat_from_double(double wide) {
  auto value = static_cast<float>(wide);
  uint32_t bits;
  memcpy(&bits, &value, 4);
  if (std::isnan(value)) return static_cast<uint16_t>((bits >> 16) | 0x40);
  return static_cast<uint16_t>((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16);
}

struct Number {
  bool integral;
  int64_t whole;  // bits of an unsigned 64-bit value too
  std::complex<double> real;
};

template <class T>
T load(const char* at) {
  T value;
  memcpy(&value, at, sizeof value);
  return value;
}

template <class T>
Number whole(const char* at) {
  T value = load<T>(at);
  return {true, static_cast<int64_t>(value), static_cast<double>(value)};
}

Number real(std::complex<double> value) { return {false, 0, value}; }

bool read(int type, const char* at, Number* out) {
  switch (type) {
    case kFloat: return *out = real(load<float>(at)), true;
    case kDouble: return *out = real(load<double>(at)), true;
    case kHalf: return *out = real(half_to_float(load<uint16_t>(at))), true;
    case kBfloat16: return *out = real(bfloat_to_float(load<uint16_t>(at))), true;
    case kComplex64: return *out = real(std::complex<double>(load<std::complex<float>>(at))), true;
    case kComplex128: return *out = real(load<std::complex<double>>(at)), true;
    case kInt8: return *out = whole<int8_t>(at), true;
    case kInt16: return *out = whole<int16_t>(at), true;
    case kInt32: return *out = whole<int32_t>(at), true;
    case kInt64: return *out = whole<int64_t>(at), true;
    case kUint8: return *out = whole<uint8_t>(at), true;
    case kUint16: return *out = whole<uint16_t>(at), true;
    case kUint32: return *out = whole<uint32_t>(at), true;
    case kUint64: return *out = whole<uint64_t>(at), true;
    case kBool: return *out = whole<uint8_t>(at), true;
  }
  return false;
}

template <class T>
void store(char* at, T value) { memcpy(at, &value, sizeof value); }

template <class T>
void store_whole(char* at, const Number& n) {
  // A float goes to a narrow integer by way of a wide one, so that the result wraps, as in torch's CPU kernels.
  int64_t wide = n.whole;
  if (!n.integral) {
    double value = n.real.real();
    wide = value >= -9223372036854775808.0 && value < 9223372036854775808.0 ? static_cast<int64_t>(value) : INT64_MIN;
  }
  store(at, static_cast<T>(wide));
}

bool write(int type, char* at, const Number& n) {
  double value = n.real.real();
  switch (type) {
    case kFloat: return store(at, static_cast<float>(value)), true;
    case kDouble: return store(at, value), true;
    case kHalf: return store(at, half_from_double(value)), true;
    case kBfloat16: return store(at, bfloat_from_double(value)), true;
    case kComplex64: return store(at, std::complex<float>(n.real)), true;
    case kComplex128: return store(at, n.real), true;
    case kInt8: return store_whole<int8_t>(at, n), true;
    case kInt16: return store_whole<int16_t>(at, n), true;
    case kInt32: return store_whole<int32_t>(at, n), true;
    case kInt64: return store_whole<int64_t>(at, n), true;
    case kUint8: return store_whole<uint8_t>(at, n), true;
    case kUint16: return store_whole<uint16_t>(at, n), true;
    case kUint32: return store_whole<uint32_t>(at, n), true;
    case kUint64: return store_whole<uint64_t>(at, n), true;
    case kBool: return store<uint8_t>(at, n.integral ? n.whole != 0 : n.real != 0.0), true;
  }
  return false;
}

// Elements from the first to the last that a tensor touches.
size_t extent(const AclTensor& tensor) {
  int64_t last = 0;
  for (size_t d = 0; d < tensor.sizes.size(); ++d) last += (tensor.sizes[d] - 1) * tensor.strides[d];
  return static_cast<size_t>(last + 1);
}

void carry(const AclTensor& to, size_t to_item, const AclTensor& from, size_t from_item, int64_t count) {
  if (!tainted()) return;
  auto start = [](const AclTensor& t, size_t item) { return static_cast<char*>(t.data) + t.offset * static_cast<int64_t>(item); };
  std::string source = taint_of(start(from, from_item), extent(from) * from_item);
  size_t bytes = extent(to) * to_item;
  if (!source.empty()) taint(start(to, to_item), bytes, source);
  else if (extent(to) == static_cast<size_t>(count)) untaint(start(to, to_item), bytes);  // no element is left out
}

}  // namespace

size_t item_size(int type) {
  switch (type) {
    case kInt8: case kUint8: case kBool: case kHifloat8: case kFloat8E5M2: case kFloat8E4M3: case kFloat8E8M0: return 1;
    case kHalf: case kBfloat16: case kInt16: case kUint16: return 2;
    case kFloat: case kInt32: case kUint32: case kComplex32: return 4;
    case kDouble: case kInt64: case kUint64: case kComplex64: return 8;
    case kComplex128: return 16;
  }
  return 0;
}

std::string dtype_name(int type) {
  static const std::map<int, const char*> names = {
      {kFloat, "float32"}, {kHalf, "float16"}, {kInt8, "int8"}, {kInt32, "int32"}, {kUint8, "uint8"},
      {kInt16, "int16"}, {kUint16, "uint16"}, {kUint32, "uint32"}, {kInt64, "int64"}, {kUint64, "uint64"},
      {kDouble, "float64"}, {kBool, "bool"}, {kComplex64, "complex64"}, {kComplex128, "complex128"},
      {kBfloat16, "bfloat16"}, {kComplex32, "complex32"}, {kHifloat8, "hifloat8"}, {kFloat8E5M2, "float8_e5m2"},
      {kFloat8E4M3, "float8_e4m3fn"}, {kFloat8E8M0, "float8_e8m0fnu"},
  };
  auto found = names.find(type);
  return found == names.end() ? "aclDataType " + std::to_string(type) : found->second;
}

std::string json_element(int type, const char* at) {
  Number n{};
  if (!read(type, at, &n)) return "null";
  if (type == kBool) return json_number(n.whole != 0);
  if (n.integral) return json_number(n.whole);
  if (type != kComplex64 && type != kComplex128) return json_number(n.real.real());
  return "[" + json_number(n.real.real()) + "," + json_number(n.real.imag()) + "]";
}

int copy_tensor(const AclTensor& to, const AclTensor& from) {
  const char* function = "aclnnInplaceCopy";
  size_t to_item = item_size(to.dtype), from_item = item_size(from.dtype), rank = to.sizes.size();
  bool same = to.dtype == from.dtype;
  Number probe{};
  char zeros[16] = {};
  if (!to_item || !from_item || (!same && !(read(from.dtype, zeros, &probe) && write(to.dtype, zeros, probe)))) {
    return refuse(function, kNotSupported, "cannot convert aclDataType " + std::to_string(from.dtype) + " to " +
                  std::to_string(to.dtype));
  }
  if (from.sizes.size() > rank) return refuse(function, kInvalidParam, "the source has more dimensions");
  int64_t count = 1;
  std::vector<int64_t> steps(rank, 0), index(rank, 0);
  for (size_t d = 0; d < rank; ++d) {
    count *= to.sizes[d];
    if (d < rank - from.sizes.size()) continue;
    size_t s = d - (rank - from.sizes.size());
    if (from.sizes[s] != to.sizes[d] && from.sizes[s] != 1) {
      return refuse(function, kInvalidParam, "the source does not broadcast to the destination");
    }
    if (from.sizes[s] != 1) steps[d] = from.strides[s];
  }
  if (count <= 0) return kSuccess;
  std::vector<char> staged(static_cast<size_t>(count) * to_item);  // source and destination may overlap
  auto walk = [&](const char* base, const std::vector<int64_t>& strides, size_t item, auto visit) {
    std::fill(index.begin(), index.end(), 0);
    int64_t at = 0;
    for (int64_t i = 0; i < count; ++i) {
      visit(static_cast<size_t>(i), const_cast<char*>(base) + at * static_cast<int64_t>(item));
      for (size_t d = rank; d-- > 0;) {
        at += strides[d];
        if (++index[d] < to.sizes[d]) break;
        at -= strides[d] * to.sizes[d];
        index[d] = 0;
      }
    }
  };
  auto base = [](const AclTensor& t, size_t item) { return static_cast<const char*>(t.data) + t.offset * static_cast<int64_t>(item); };
  walk(base(from, from_item), steps, from_item, [&](size_t i, char* at) {
    Number n{};
    if (same) memcpy(&staged[i * to_item], at, to_item);
    else if (read(from.dtype, at, &n)) write(to.dtype, &staged[i * to_item], n);
  });
  walk(base(to, to_item), to.strides, to_item, [&](size_t i, char* at) { memcpy(at, &staged[i * to_item], to_item); });
  carry(to, to_item, from, from_item, count);
  return kSuccess;
}

}  // namespace opkit
