// Shared state of the stand-in: streams, events, captured models, and the one lock that guards them.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "opkit_standin.h"

#define ACL_API extern "C" __attribute__((visibility("default")))

namespace opkit {

// ACL error codes (the names and numbers of CANN's rt_error_codes.h and acl_base.h).
enum Code : int {
  kSuccess = 0,
  kInvalidParam = 100000,
  kParamInvalid = 107000,
  kInvalidDevice = 107001,
  kContextNull = 107002,
  kEventTimestampInvalid = 107006,
  kInvalidHandle = 107017,
  kWaitTimeout = 107019,
  kCaptureDependency = 107024,
  kStreamUnjoined = 107025,
  kModelCaptured = 107026,
  kStreamCaptured = 107027,
  kEventCaptured = 107028,
  kStreamNotCaptured = 107029,
  kCaptureNotSupported = 107030,
  kCaptureImplicit = 107031,
  kCaptureConflict = 107032,
  kTaskGroupStatus = 107033,
  kTaskGroupInterrupted = 107034,
  kCaptureUnmatched = 107036,
  kCaptureWrongThread = 107038,
  kModelUpdateFailed = 107040,
  kCaptureBlocksSync = 107041,
  kNotSupported = 207000,
  kOutOfMemory = 207001,
  kInternalError = 500000,
  kDeviceFault = 507015,
  kCaptureInvalidated = 507903,
};

enum CaptureMode : int { kGlobal = 0, kThreadLocal = 1, kRelaxed = 2 };

// A task that cannot run yet because it waits for an event; the stream keeps it and tries again.
constexpr int kBlocked = -1;

// What Python computes has a token and no function.
struct Task {
  std::string name;
  std::function<int()> run;
  std::shared_ptr<const uint64_t> token;
};

struct TaskGroup {
  size_t first = 0, last = 0;  // range of tasks in the model
  struct Model* model = nullptr;
  int device = 0;
};

struct Stream;

struct Model {
  uint64_t id = 0;
  std::vector<Task> tasks;
  std::vector<std::unique_ptr<TaskGroup>> groups;
  Stream* origin = nullptr;
  std::set<Stream*> streams;     // every stream that takes part in the capture
  std::thread::id thread;
  CaptureMode mode = kGlobal;
  bool open = false, invalid = false;
  int64_t group_begin = -1;      // first task of the group now being captured
  std::string why_invalid;
};

struct Stream {
  int32_t id = 0;
  int device = 0;
  Model* capture = nullptr;
  size_t last_task = 0;                  // number of its last task in the capture, counted from 1
  std::string last_said;                 // what that task is, and who called for it
  std::map<Stream*, size_t> seen;        // tasks of other captured streams that this one is known to come after
  std::deque<Task> queue;        // not empty only while its first task is blocked
  bool draining = false;
  TaskGroup* updating = nullptr;
  std::vector<Task> updates;
  std::map<int, uint32_t> limits;
  uint64_t failure_mode = 0;
  uint32_t overflow_switch = 0;
  int first_error = 0;           // of a task that ran after its submission had returned
};

struct Event {
  uint32_t flag = 0;
  int device = 0;
  int pending = 0;               // records submitted and not yet run
  bool recorded = false;
  std::chrono::steady_clock::time_point when;
  uint64_t captured_in = 0;      // id of the model whose capture recorded it last, 0 if none
  std::map<Stream*, size_t> seen;  // what a stream that waits for that record comes after
  bool external() const { return flag & 0x20u; }
};

// Lock order: this is the only lock held while state is read or written, and no task, no Python and no other callback
// runs under it, so that a callback may call the ACL interface again.
std::recursive_mutex& lock();
using Guard = std::lock_guard<std::recursive_mutex>;

std::map<uint64_t, std::unique_ptr<Model>>& models();
std::map<void*, std::shared_ptr<Event>>& events();
std::map<void*, std::unique_ptr<Stream>>& streams();
Stream* find_stream(void* handle);  // null is the default stream of the current device; an unknown handle gives null
bool is_default(const Stream* stream);
int current_device();

// ---- journal.cpp
void note(const char* event, const std::string& name, uint64_t model = 0, int code = 0, const std::string& reason = "");
int refuse(const char* function, int code, const std::string& reason);
std::string called_by();  // " (called by OPERATOR)" while its host code runs on this thread, else ""
void set_error(const std::string& text);
std::string take_error();
std::string quoted(const std::string& text);  // as a JSON string

// ---- launches.cpp
// Keeps what a kernel was given, as a JSON array, with the model into which `stream` is being captured.
void note_launch(const std::string& name, const std::string& arguments, void* stream);

// ---- taint.cpp: memory whose values come from a launch that nobody computed
bool tainted();  // whether there is any
void taint(const void* data, size_t bytes, const std::string& source);
void untaint(const void* data, size_t bytes);
std::string taint_of(const void* data, size_t bytes);  // the launch it comes from, "" if none
// After a copy: the destination has the source's taint, or none. Reading tainted memory to the host is journalled.
void carry_taint(const void* dst, const void* src, size_t bytes);

// ---- stream.cpp
int submit(const char* function, void* stream, Task task);
int run_tasks(Stream* stream);  // everything that is not blocked
int run_all_streams();
// Runs tasks of a captured model: one, or several that Python computes. What they launch is journalled under the model.
int run_in_replay(uint64_t model, const std::vector<Task>& tasks);
void count_uncomputed(const std::string& name);
int submit_uncomputed(const char* function, const std::string& label, void* stream);  // a launch that nobody computes

// ---- capture.cpp
Model* open_capture(const Stream* stream);
void invalidate(Model* model, const std::string& why);
// 0, or the refusal of `function` because a capture forbids synchronous memory calls on this thread.
int check_sync_memory(const char* function);
// 0, or the refusal because a capture is open: waiting for, or asking about, unfinished work is illegal in every mode.
int check_wait(const char* function, Stream* stream);
int check_wait_device(const char* function);
void join(Stream* stream, Model* model, const Event& event);
int check_recording(const char* function, const Model* model);  // 0, or the refusal because the capture is lost
int record_task(const char* function, Stream* stream, Task task);

// ---- memory.cpp
bool is_device(const void* data, size_t bytes);
bool is_pinned(const void* data, size_t bytes);
void* allocate_device(size_t bytes);
int free_device(void* data);

// ---- device.cpp
int device_count();
const std::string& soc_name();
const std::string& cann_version();
std::string setting(const char* name, const char* fallback);

// ---- ir.cpp
struct Prototype {
  std::vector<std::pair<std::string, std::string>> inputs, outputs, attrs;
};
const Prototype* find_prototype(const std::string& op);

}  // namespace opkit
