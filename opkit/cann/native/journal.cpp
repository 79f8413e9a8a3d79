// The record of what happened (for Python, as evidence) and the text of the last error (for the caller, as on CANN).
#include "state.h"

namespace opkit {

namespace {

struct Entry {
  const char* event;
  std::string name;
  uint64_t model;
  int code;
  std::string reason, op;
};

constexpr size_t kCapacity = 65536;
std::mutex journal_lock;
std::deque<Entry>& entries() {
  static auto* all = new std::deque<Entry>();  // never destroyed: calls may come from exit handlers
  return *all;
}
uint64_t dropped = 0;
thread_local std::string recent_error;
thread_local std::vector<std::string> operators;

}  // namespace

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (unsigned char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += static_cast<char>(c);
    } else if (c < 0x20) {
      char code[8];
      snprintf(code, sizeof code, "\\u%04x", c);
      out += code;
    } else {
      out += static_cast<char>(c);
    }
  }
  return out + "\"";
}

void note(const char* event, const std::string& name, uint64_t model, int code, const std::string& reason) {
  std::lock_guard<std::mutex> guard(journal_lock);
  auto& all = entries();
  if (all.size() == kCapacity) {
    all.pop_front();
    ++dropped;
  }
  all.push_back({event, name, model, code, reason, operators.empty() ? "" : operators.front()});
}

void set_error(const std::string& text) { recent_error = text; }

std::string take_error() {
  std::string text;
  text.swap(recent_error);
  return text;
}

std::string called_by() { return operators.empty() ? "" : " (called by " + operators.front() + ")"; }

int refuse(const char* function, int code, const std::string& reason) {
  // The reason of a lost capture may name the operator already.
  std::string by = reason.find("(called by ") == std::string::npos ? called_by() : "";
  set_error(std::string("opkit stand-in: ") + function + ": " + reason + by);
  note("refuse", function, 0, code, reason);
  return code;
}

}  // namespace opkit

using namespace opkit;

ACL_API const char* aclGetRecentErrMsg() {
  // As on CANN, reading the message of this thread also clears it.
  static thread_local std::string text;
  text = take_error();
  return text.c_str();
}

ACL_API void opkit_enter_operator(const char* name) { operators.emplace_back(name ? name : ""); }
ACL_API void opkit_leave_operator() {
  if (!operators.empty()) operators.pop_back();
}

ACL_API void opkit_set_error(const char* text) { set_error(text ? text : ""); }

ACL_API const char* opkit_journal_take() {
  static thread_local std::string json;
  std::deque<Entry> taken;
  uint64_t lost = 0;
  {
    std::lock_guard<std::mutex> guard(journal_lock);
    taken.swap(entries());
    std::swap(lost, dropped);
  }
  json = "[";
  if (lost) json += "{\"event\":\"dropped\",\"name\":\"\",\"model\":0,\"code\":" + std::to_string(lost) + ",\"reason\":\"\",\"operator\":\"\"}";
  for (const auto& entry : taken) {
    if (json.size() > 1) json += ",";
    json += std::string("{\"event\":\"") + entry.event + "\",\"name\":" + quoted(entry.name) +
            ",\"model\":" + std::to_string(entry.model) + ",\"code\":" + std::to_string(entry.code) +
            ",\"reason\":" + quoted(entry.reason) +
            ",\"operator\":" + quoted(entry.op) + "}";
  }
  json += "]";
  return json.c_str();
}

// Called by every generated stub (see symbols.py).
ACL_API int opkit_unimplemented(const char* function, int code) {
  return refuse(function, code, "not implemented");
}
