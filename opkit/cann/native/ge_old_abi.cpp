// The two GE functions that return a std::string of the ABI before C++11.
#define _GLIBCXX_USE_CXX11_ABI 0
#include <string>

extern "C" const char* aclGetRecentErrMsg();

namespace ge {

enum Format : int {};

__attribute__((visibility("default"))) std::string GEGetErrorMsg() { return aclGetRecentErrMsg(); }

__attribute__((visibility("default"))) std::string GetFormatName(Format format) {
  static const char* names[] = {"NCHW", "NHWC", "ND", "NC1HWC0", "FRACTAL_Z"};
  if (format >= 0 && format < 5) return names[format];
  return format == 29 ? "FRACTAL_NZ" : "FORMAT_" + std::to_string(static_cast<int>(format));
}

}  // namespace ge
