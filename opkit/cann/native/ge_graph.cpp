// ge::Graph: the serialized graph, kept as it came, and the one question that is asked of it here: its nodes' types.
#include <fstream>

#include "ge.h"
#include "state.h"

namespace {

// Calls visit(field number, payload) for each length-delimited field of a protobuf message; false if it is malformed.
bool walk(const std::string& message, const std::function<void(uint64_t, std::string)>& visit) {
  size_t at = 0;
  auto varint = [&](uint64_t* out) {
    *out = 0;
    for (int shift = 0; at < message.size() && shift < 64; shift += 7) {
      auto byte = static_cast<uint8_t>(message[at++]);
      *out |= static_cast<uint64_t>(byte & 0x7F) << shift;
      if (!(byte & 0x80)) return true;
    }
    return false;
  };
  while (at < message.size()) {
    uint64_t key, n;
    if (!varint(&key)) return false;
    switch (key & 7) {
      case 0: if (!varint(&n)) return false; break;
      case 1: at += 8; break;
      case 5: at += 4; break;
      case 2:
        if (!varint(&n) || n > message.size() - at) return false;
        visit(key >> 3, message.substr(at, n));
        at += n;
        break;
      default: return false;
    }
  }
  return at == message.size();
}

// Field numbers of ge.proto: ModelDef.graph = 7, GraphDef.op = 6, OpDef.type = 2.
bool node_types(const std::string& model, std::vector<std::string>* types) {
  bool sound = true;
  sound &= walk(model, [&](uint64_t field, const std::string& graph) {
    if (field != 7) return;
    sound &= walk(graph, [&](uint64_t graph_field, const std::string& op) {
      if (graph_field != 6) return;
      sound &= walk(op, [&](uint64_t op_field, const std::string& type) {
        if (op_field == 2) types->push_back(type);
      });
    });
  });
  return sound;
}

ge::Status fail(const char* function, const std::string& reason) {
  opkit::refuse(function, opkit::kParamInvalid, reason);
  return ge::kFailed;
}

}  // namespace

namespace ge {

Graph::Graph(const char* name) : impl_(std::make_shared<GraphImpl>()) { impl_->name = name ? name : ""; }

Status Graph::LoadFromSerializedModelArray(const void* data, size_t size) {
  const char* function = "ge::Graph::LoadFromSerializedModelArray";
  if (!data || !size) return fail(function, "the graph is empty");
  std::string bytes(static_cast<const char*>(data), size);
  std::vector<std::string> types;
  if (!node_types(bytes, &types)) return fail(function, "this is not a serialized ge.proto model");
  if (!impl_) impl_ = std::make_shared<GraphImpl>();
  impl_->bytes = std::move(bytes);
  return kOk;
}

std::vector<GNode> Graph::GetAllNodes() const {
  std::vector<std::string> types;
  if (impl_) node_types(impl_->bytes, &types);
  std::vector<GNode> nodes;
  for (auto& type : types) nodes.emplace_back(type);
  return nodes;
}

Status Graph::SaveToFile(const char* path) const {
  if (!impl_) return fail("ge::Graph::SaveToFile", "the graph is empty");
  std::ofstream file(path, std::ios::binary);
  file.write(impl_->bytes.data(), static_cast<std::streamsize>(impl_->bytes.size()));
  file.close();
  return file ? kOk : fail("ge::Graph::SaveToFile", std::string("cannot write ") + path);
}

Status Graph::CopyFrom(const Graph& other) {
  impl_ = other.impl_ ? std::make_shared<GraphImpl>(*other.impl_) : nullptr;
  return kOk;
}

GNode::GNode(const std::string& type) : type_(std::make_shared<std::string>(type)) {}
Status GNode::GetType(AscendString& out) const {
  if (!type_) return fail("ge::GNode::GetType", "the node is empty");
  out = AscendString(type_->c_str());
  return kOk;
}

}  // namespace ge
