// Compile options, logging, profiling marks and the bounded string functions that the libraries export.
#include <cstdarg>
#include <cstdio>
#include <cstdlib>

#include "state.h"

using namespace opkit;

namespace {

std::map<int, std::string>& compile_options() {
  static auto* all = new std::map<int, std::string>{{10, "disable"}};  // 10: just-in-time compilation of operators
  return *all;
}

std::string compile_option(int option) {
  Guard guard(lock());
  auto found = compile_options().find(option);
  return found == compile_options().end() ? "" : found->second;
}

}  // namespace

ACL_API int aclSetCompileopt(int option, const char* value) {
  if (!value) return refuse("aclSetCompileopt", kInvalidParam, "null value");
  Guard guard(lock());
  compile_options()[option] = value;
  return kSuccess;
}

ACL_API size_t aclGetCompileoptSize(int option) { return compile_option(option).size() + 1; }

ACL_API int aclGetCompileopt(int option, char* out, size_t room) {
  std::string value = compile_option(option);
  if (room < value.size() + 1) return refuse("aclGetCompileopt", kInvalidParam, "buffer too small");
  memcpy(out, value.c_str(), value.size() + 1);
  return kSuccess;
}

// The level is that of CANN's own ASCEND_GLOBAL_LOG_LEVEL: 0 debug, 1 info, 2 warning, 3 error (default), 4 none.
ACL_API void aclAppLog(int level, const char* function, const char* file, uint32_t line, const char* format, ...) {
  static const int wanted = atoi(setting("ASCEND_GLOBAL_LOG_LEVEL", "3").c_str());
  static const bool to_screen = setting("ASCEND_SLOG_PRINT_TO_STDOUT", "0") == "1";
  if (level < wanted || !to_screen || wanted >= 4) return;
  static const char* names[] = {"DEBUG", "INFO", "WARNING", "ERROR"};
  fprintf(stdout, "[%s] %s:%u %s: ", level >= 0 && level < 4 ? names[level] : "LOG", file ? file : "", line,
          function ? function : "");
  va_list arguments;
  va_start(arguments, format);
  vfprintf(stdout, format, arguments);
  va_end(arguments);
  fputc('\n', stdout);
}

// Profiling is never on here, so there is nothing to collect.
ACL_API int MsprofRegisterCallback(uint32_t, void*) { return 0; }
ACL_API int MsprofReportApi(uint32_t, const void*) { return 0; }
ACL_API int MsprofReportCompactInfo(uint32_t, const void*, uint32_t) { return 0; }
ACL_API int MsprofReportAdditionalInfo(uint32_t, const void*, uint32_t) { return 0; }
ACL_API uint64_t MsprofGetHashId(const char* text, size_t n) { return std::hash<std::string>()(std::string(text, n)); }
ACL_API uint64_t MsprofSysCycleTime() {
  return static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

ACL_API int strcpy_s(char* out, size_t room, const char* text) {
  size_t n = text ? strlen(text) : room;
  if (!out || !room || n >= room) {
    if (out && room) *out = 0;
    return 34;  // ERANGE, as the safe C library has it
  }
  memcpy(out, text, n + 1);
  return 0;
}

ACL_API int vsnprintf_s(char* out, size_t room, size_t count, const char* format, va_list arguments) {
  if (!out || !room) return -1;
  int n = vsnprintf(out, std::min(room, count + 1), format, arguments);
  return n < 0 || static_cast<size_t>(n) > count || static_cast<size_t>(n) >= room ? -1 : n;
}

ACL_API int snprintf_s(char* out, size_t room, size_t count, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  int n = vsnprintf_s(out, room, count, format, arguments);
  va_end(arguments);
  return n;
}

// HCCL's settings (determinism) change nothing where no collective runs.
ACL_API int HcclSetConfig(int, int64_t) { return kSuccess; }
ACL_API int aclmdlInitDump() { return kSuccess; }
ACL_API int aclmdlFinalizeDump() { return kSuccess; }
