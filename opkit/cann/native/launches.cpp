// What kernels were launched with: the newest launches and their arguments, for reports.
#include <cmath>

#include "state.h"
#include "tensor.h"

namespace opkit {

namespace {

constexpr size_t kKept = 4096;
std::deque<std::string>& kept() {
  static auto* all = new std::deque<std::string>();  // never destroyed: calls may come from exit handlers
  return *all;
}

}  // namespace

std::string json_number(int64_t value) { return std::to_string(value); }

std::string json_number(double value) {
  if (std::isnan(value)) return "\"nan\"";
  if (std::isinf(value)) return value < 0 ? "\"-inf\"" : "\"inf\"";
  char text[32];
  snprintf(text, sizeof text, "%.17g", value);
  return text;
}

std::string json_numbers(const std::vector<int64_t>& values) {
  std::string text = "[";
  for (int64_t value : values) text += (text.size() > 1 ? "," : "") + json_number(value);
  return text + "]";
}

std::string json_list(const std::vector<const Handle*>& items) {
  std::string text = "[";
  for (auto item : items) text += (text.size() > 1 ? "," : "") + (item ? item->json() : "null");
  return text + "]";
}

std::string AclTensor::json() const {
  return "{\"kind\":\"tensor\",\"dtype\":" + quoted(dtype_name(dtype)) + ",\"shape\":" + json_numbers(sizes) +
         ",\"stride\":" + json_numbers(strides) + ",\"offset\":" + json_number(offset) +
         ",\"format\":" + std::to_string(format) + ",\"storage\":" + std::to_string(reinterpret_cast<uintptr_t>(data)) +
         ",\"storage_shape\":" + json_numbers(storage) + "}";
}

AclScalar::AclScalar(int type, const void* value) : dtype(type) {
  if (value) memcpy(bytes, value, item_size(type));
}

std::string AclScalar::json() const {
  return "{\"kind\":\"scalar\",\"dtype\":" + quoted(dtype_name(dtype)) + ",\"value\":" + json_element(dtype, bytes) + "}";
}

void note_launch(const std::string& name, const std::string& arguments, void* stream) {
  Guard guard(lock());
  Model* model = open_capture(find_stream(stream));
  if (kept().size() == kKept) kept().pop_front();
  kept().push_back("{\"name\":" + quoted(name) + ",\"model\":" + std::to_string(model ? model->id : 0) +
                   ",\"arguments\":" + arguments + "}");
}

}  // namespace opkit

using namespace opkit;

ACL_API const char* opkit_launches_take() {
  static thread_local std::string json;
  Guard guard(lock());
  json = "[";
  for (const auto& launch : kept()) json += (json.size() > 1 ? "," : "") + launch;
  json += "]";
  kept().clear();
  return json.c_str();
}
