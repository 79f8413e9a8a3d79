// Initialisation, devices, contexts, versions and settings. What a machine would answer comes from OPKIT_* variables.
#include <unistd.h>

#include <cstdlib>

#include "state.h"

namespace opkit {

namespace {

struct Soc {
  const char* name;
  int64_t cube_cores, vector_cores, l2_bytes;
};

// Full names as aclrtGetSocName gives them; opkit/cann/settings.py lists the same names and the short ones. The numbers
// are plausible ones: they matter only to host code that splits its work by them.
const Soc kSocs[] = {
    {"Ascend910B2", 24, 48, 192 << 20},      {"Ascend910B1", 24, 48, 192 << 20},
    {"Ascend910B2C", 24, 48, 192 << 20},     {"Ascend910B3", 20, 40, 192 << 20},
    {"Ascend910B4", 20, 40, 96 << 20},       {"Ascend910_9391", 24, 48, 192 << 20},
    {"Ascend910_9392", 24, 48, 192 << 20},   {"Ascend910_9382", 24, 48, 192 << 20},
    {"Ascend310P1", 8, 7, 16 << 20},         {"Ascend310P3", 8, 7, 16 << 20},
    {"Ascend910A", 32, 32, 32 << 20},        {"Ascend950DT_9581", 32, 64, 128 << 20},
    {"Ascend950PR_9589", 32, 64, 128 << 20},
};

const Soc& soc() {
  for (const Soc& known : kSocs) {
    if (soc_name() == known.name) return known;
  }
  return kSocs[0];
}

thread_local int device = -1;
struct Context { int device; };

// Contexts live as long as the process: torch keeps their addresses.
Context* context_of(int index) {
  static auto* all = new std::map<int, Context*>();
  auto& context = (*all)[index];
  if (!context) context = new Context{index};
  return context;
}

std::map<int, int64_t>& system_options() {
  static auto* all = new std::map<int, int64_t>();
  return *all;
}

int check_device(const char* function, int index) {
  if (index >= 0 && index < device_count()) return kSuccess;
  return refuse(function, kInvalidDevice, "device " + std::to_string(index) + " of " + std::to_string(device_count()) +
                " (OPKIT_DEVICES sets the number)");
}

std::map<std::pair<void*, int>, uint32_t>& limits() {
  static auto* all = new std::map<std::pair<void*, int>, uint32_t>();
  return *all;
}

int64_t cores(int type) { return type == 0 ? soc().cube_cores : soc().vector_cores; }
char device_key;  // key of the device-wide limits in limits()
thread_local void* limited_stream = &device_key;

uint32_t limit_of(void* key, int type) {
  for (void* at : {key, static_cast<void*>(&device_key)}) {
    auto found = limits().find({at, type});
    if (found != limits().end()) return found->second;
  }
  return static_cast<uint32_t>(cores(type));
}

int set_limit(const char* function, void* key, int type, uint32_t value) {
  if (type < 0 || type > 1 || !value || value > cores(type)) return refuse(function, kParamInvalid, "no such core limit");
  Guard guard(lock());
  limits()[{key, type}] = value;
  return kSuccess;
}

}  // namespace

std::string setting(const char* name, const char* fallback) {
  const char* value = getenv(name);
  return value && *value ? value : fallback;
}

int device_count() {
  static const int count = std::max(1, atoi(setting("OPKIT_DEVICES", "1").c_str()));
  return count;
}

int current_device() { return device < 0 ? 0 : device; }

const std::string& soc_name() {
  static const std::string name = setting("OPKIT_SOC", kSocs[0].name);
  return name;
}

const std::string& cann_version() {
  static const std::string version = setting("OPKIT_CANN", "8.5.0");
  return version;
}

}  // namespace opkit

using namespace opkit;

ACL_API int aclInit(const char*) { return kSuccess; }
ACL_API int aclFinalize() { return kSuccess; }
ACL_API const char* aclrtGetSocName() { return soc_name().c_str(); }
ACL_API const char* opkit_soc_name() { return soc_name().c_str(); }

ACL_API const char* opkit_soc_names() {
  static const std::string json = [] {
    std::string all = "[";
    for (const Soc& known : kSocs) all += (all.size() > 1 ? "," : "") + quoted(known.name);
    return all + "]";
  }();
  return json.c_str();
}

ACL_API int aclrtGetDeviceCount(uint32_t* count) {
  *count = static_cast<uint32_t>(device_count());
  return kSuccess;
}

ACL_API int aclrtSetDevice(int32_t index) {
  if (int code = check_device("aclrtSetDevice", index)) return code;
  device = index;
  return kSuccess;
}

ACL_API int aclrtResetDevice(int32_t index) { return check_device("aclrtResetDevice", index); }

ACL_API int aclrtGetDevice(int32_t* index) {
  if (device < 0) return kContextNull;  // a question, not a mistake: no device was set on this thread
  *index = device;
  return kSuccess;
}

ACL_API int aclrtGetLogicDevIdByUserDevId(int32_t user, int32_t* logical) {
  if (int code = check_device("aclrtGetLogicDevIdByUserDevId", user)) return code;
  *logical = user;
  return kSuccess;
}

ACL_API int aclrtGetCurrentContext(void** out) {
  if (device < 0) return kContextNull;  // a question, not a mistake: no device was set on this thread
  Guard guard(lock());
  *out = context_of(device);
  return kSuccess;
}

ACL_API int aclrtSetCurrentContext(void* context) {
  Guard guard(lock());
  for (int i = 0; i < device_count(); ++i) {
    if (context_of(i) == context) return device = i, kSuccess;
  }
  return refuse("aclrtSetCurrentContext", kContextNull, "unknown context");
}

ACL_API int aclrtGetPrimaryCtxState(int32_t index, uint32_t* flags, int32_t* active) {
  if (int code = check_device("aclrtGetPrimaryCtxState", index)) return code;
  if (flags) *flags = 0;
  *active = 1;
  return kSuccess;
}

ACL_API int aclrtDeviceCanAccessPeer(int32_t* can, int32_t a, int32_t b) {
  *can = a != b;
  return kSuccess;
}

ACL_API int aclrtDeviceGetBareTgid(int32_t* pid) { return *pid = static_cast<int32_t>(getpid()), kSuccess; }

ACL_API int aclrtDeviceGetUuid(int32_t index, char* out) {
  if (int code = check_device("aclrtDeviceGetUuid", index)) return code;
  snprintf(out, 16, "opkit-device-%02d", index);  // 16 bytes with its end
  return kSuccess;
}

ACL_API int aclrtDeviceEnablePeerAccess(int32_t peer, uint32_t) { return check_device("aclrtDeviceEnablePeerAccess", peer); }

// ---- what the device is ----------------------------------------------------------------------------------------------

ACL_API int aclGetDeviceCapability(uint32_t, int what, int64_t* value) {
  if (what == 0) return *value = soc().cube_cores, kSuccess;
  if (what == 1) return *value = soc().vector_cores, kSuccess;
  if (what == 2) return *value = soc().l2_bytes, kSuccess;
  return refuse("aclGetDeviceCapability", kInvalidParam, "unknown capability " + std::to_string(what));
}

ACL_API int aclrtGetDeviceInfo(uint32_t, int what, int64_t* value) {
  if (what == 1 || what == 101) return *value = soc().cube_cores, kSuccess;  // AI cores, cube cores
  if (what == 201) return *value = soc().vector_cores, kSuccess;
  if (what == 302) return *value = soc().l2_bytes, kSuccess;
  return refuse("aclrtGetDeviceInfo", kParamInvalid, "attribute " + std::to_string(what) + " is not known");
}

ACL_API int aclGetCannAttributeList(const int** list, size_t* count) {
  static const int attributes[] = {0, 1, 2};
  *list = attributes;
  *count = 3;
  return kSuccess;
}

ACL_API int aclGetCannAttribute(int attribute, int32_t* value) {
  if (attribute < 0 || attribute > 2) return refuse("aclGetCannAttribute", kInvalidParam, "unknown attribute");
  *value = 1;
  return kSuccess;
}

// ---- versions --------------------------------------------------------------------------------------------------------

namespace {
struct PackageVersion {
  char version[128], major[64], minor[64], release[64], patch[64], reserved[128];
};
}  // namespace

ACL_API int aclsysGetCANNVersion(int, PackageVersion* out) {
  *out = {};
  const std::string& version = cann_version();
  snprintf(out->version, sizeof out->version, "%s", version.c_str());
  char* parts[] = {out->major, out->minor, out->release, out->patch};
  size_t from = 0;
  for (char* part : parts) {
    size_t to = version.find('.', from);
    snprintf(part, 64, "%s", version.substr(from, to == std::string::npos ? to : to - from).c_str());
    if (to == std::string::npos) break;
    from = to + 1;
  }
  return kSuccess;
}

ACL_API int aclsysGetVersionStr(const char*, char* out) {
  strcpy(out, cann_version().c_str());
  return kSuccess;
}

// ---- settings that change nothing here, kept so that they can be read back -------------------------------------------

ACL_API int aclrtSetSysParamOpt(int option, int64_t value) {
  Guard guard(lock());
  system_options()[option] = value;
  return kSuccess;
}
ACL_API int aclrtGetSysParamOpt(int option, int64_t* value) {
  Guard guard(lock());
  *value = system_options()[option];
  return kSuccess;
}
ACL_API int aclrtCtxSetSysParamOpt(int option, int64_t value) { return aclrtSetSysParamOpt(option, value); }
ACL_API int aclrtCtxGetSysParamOpt(int option, int64_t* value) { return aclrtGetSysParamOpt(option, value); }
ACL_API int aclrtSetDeviceSatMode(int) { return kSuccess; }
ACL_API int aclrtSetOpWaitTimeout(uint32_t) { return kSuccess; }
ACL_API int aclrtSetOpExecuteTimeOut(uint32_t) { return kSuccess; }
ACL_API int aclrtSetOpExecuteTimeOutV2(uint64_t asked, uint64_t* actual) { return *actual = asked, kSuccess; }
ACL_API int aclrtPeekAtLastError(int) { return kSuccess; }
ACL_API int aclrtGetLastError(int) { return kSuccess; }

ACL_API int aclrtSetStreamFailureMode(void* stream, uint64_t mode) {
  Guard guard(lock());
  Stream* known = find_stream(stream);
  if (!known) return refuse("aclrtSetStreamFailureMode", kInvalidHandle, "unknown stream");
  return known->failure_mode = mode, kSuccess;
}
ACL_API int aclrtSetStreamOverflowSwitch(void* stream, uint32_t flag) {
  Guard guard(lock());
  Stream* known = find_stream(stream);
  if (!known) return refuse("aclrtSetStreamOverflowSwitch", kInvalidHandle, "unknown stream");
  return known->overflow_switch = flag, kSuccess;
}
ACL_API int aclrtGetStreamOverflowSwitch(void* stream, uint32_t* flag) {
  Guard guard(lock());
  Stream* known = find_stream(stream);
  if (!known) return refuse("aclrtGetStreamOverflowSwitch", kInvalidHandle, "unknown stream");
  return *flag = known->overflow_switch, kSuccess;
}
ACL_API int aclrtSetStreamAttribute(void*, int, void*) { return kSuccess; }

ACL_API int aclrtSetDeviceResLimit(int32_t, int type, uint32_t value) {
  return set_limit("aclrtSetDeviceResLimit", &device_key, type, value);
}
ACL_API int aclrtSetStreamResLimit(void* stream, int type, uint32_t value) {
  return set_limit("aclrtSetStreamResLimit", stream, type, value);
}
namespace {
int drop_limits(void* key) {
  Guard guard(lock());
  for (int type : {0, 1}) limits().erase({key, type});
  return kSuccess;
}
}  // namespace
ACL_API int aclrtResetDeviceResLimit(int32_t) { return drop_limits(&device_key); }
ACL_API int aclrtResetStreamResLimit(void* stream) { return drop_limits(stream); }
ACL_API int aclrtUseStreamResInCurrentThread(void* stream) { return limited_stream = stream, kSuccess; }
ACL_API int aclrtUnuseStreamResInCurrentThread(void*) { return limited_stream = &device_key, kSuccess; }

ACL_API int aclrtGetDeviceResLimit(int32_t, int type, uint32_t* value) {
  Guard guard(lock());
  return *value = limit_of(&device_key, type), kSuccess;
}
ACL_API int aclrtGetStreamResLimit(void* stream, int type, uint32_t* value) {
  Guard guard(lock());
  return *value = limit_of(stream, type), kSuccess;
}
ACL_API int aclrtGetResInCurrentThread(int type, uint32_t* value) {
  Guard guard(lock());
  return *value = limit_of(limited_stream, type), kSuccess;
}
