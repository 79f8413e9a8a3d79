// The table of Ascend IR prototypes. On CANN it is filled by the installed operator packages; here Python fills it.
#include "state.h"

namespace opkit {

namespace {

std::map<std::string, Prototype>& table() {
  static auto* all = new std::map<std::string, Prototype>();
  return *all;
}

// Reads the one form of JSON that opkit_ir_define documents: objects of strings and of arrays of [name, kind].
class Reader {
 public:
  explicit Reader(const char* text) : at_(text) {}

  bool definition(std::string* op, Prototype* out) {
    if (!take('{')) return false;
    do {
      std::string key;
      if (!string(&key) || !take(':')) return false;
      if (key == "op") {
        if (!string(op)) return false;
      } else if (key == "inputs" || key == "outputs" || key == "attrs") {
        auto& list = key == "inputs" ? out->inputs : key == "outputs" ? out->outputs : out->attrs;
        if (!pairs(&list)) return false;
      } else {
        return false;
      }
    } while (take(','));
    return take('}') && !op->empty() && (blank(), *at_ == 0);
  }

 private:
  void blank() { while (*at_ == ' ' || *at_ == '\n' || *at_ == '\t' || *at_ == '\r') ++at_; }
  bool take(char c) {
    blank();
    return *at_ == c ? (++at_, true) : false;
  }
  bool string(std::string* out) {
    if (!take('"')) return false;
    for (; *at_ && *at_ != '"'; ++at_) {
      if (*at_ == '\\') return false;  // names have no escapes
      *out += *at_;
    }
    return take('"');
  }
  bool pairs(std::vector<std::pair<std::string, std::string>>* out) {
    if (!take('[')) return false;
    if (take(']')) return true;
    do {
      std::pair<std::string, std::string> item;
      if (!take('[') || !string(&item.first) || !take(',') || !string(&item.second) || !take(']')) return false;
      out->push_back(std::move(item));
    } while (take(','));
    return take(']');
  }
  const char* at_;
};

}  // namespace

const Prototype* find_prototype(const std::string& op) {
  Guard guard(lock());
  auto found = table().find(op);
  return found == table().end() ? nullptr : &found->second;
}

}  // namespace opkit

using namespace opkit;

ACL_API int opkit_ir_define(const char* json) {
  std::string op;
  Prototype prototype;
  if (!json || !Reader(json).definition(&op, &prototype)) {
    return refuse("opkit_ir_define", kParamInvalid, "not a prototype: " + std::string(json ? json : "null"));
  }
  Guard guard(lock());
  table()[op] = std::move(prototype);
  return kSuccess;
}

ACL_API void opkit_ir_clear() {
  Guard guard(lock());
  table().clear();
}
