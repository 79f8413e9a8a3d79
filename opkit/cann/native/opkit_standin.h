// The C interface of libopkit_standin.so: what Python (opkit/cann/library.py) may ask of the stand-in.
//
// Everything here has C linkage and plain types, so that ctypes can call it. Functions return an ACL code (0 is
// success) unless they say otherwise. Strings returned belong to the library and stay valid until the same thread calls
// the same function again.
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// ---- tasks -----------------------------------------------------------------------------------------------------------
// Runs the tasks that `tokens` name, in order; called at the submission of one, and on each replay for those of a
// captured model that follow one another. Returns how many succeeded; if fewer than `n`, the next one failed.
typedef size_t (*opkit_task_fn)(const uint64_t* tokens, size_t n);
void opkit_set_task_runner(opkit_task_fn runner);

// Tells Python that no model and no queue refers to `token` any more (a captured model was destroyed). May be null.
typedef void (*opkit_release_fn)(uint64_t token);
void opkit_set_task_releaser(opkit_release_fn releaser);

// Submits a kernel launch to `stream` (null is the default stream). While the stream is being captured the task is
// stored, not run. Token 0 means that nobody computes this launch: it is counted and journalled as "uncomputed".
int opkit_launch(const char* name, uint64_t token, void* stream);

// 0, or the code with which a launch to `stream` would be refused now.
int opkit_check_launch(const char* name, void* stream);

int opkit_stream_is_capturing(void* stream);   // 1 or 0
uint64_t opkit_capturing_model(void* stream);  // id of the model that `stream` is captured into, 0 if none
uint64_t opkit_uncomputed_count(void);         // launches so far whose result nobody computed

uint64_t opkit_uncomputed_launches(void);       // how many this thread has submitted, run or captured

// Memory that holds values which nobody computed, or which derive from such. `source` names the launch. Copies carry
// the mark along; a copy to the host's own memory is journalled as "read_uncomputed" and told to the reader, on the
// thread that copies.
void opkit_taint(const void* data, size_t bytes, const char* source);
void opkit_untaint(const void* data, size_t bytes);
int opkit_tainted(void);                                       // 1 if there is any such memory
const char* opkit_taint_of(const void* data, size_t bytes);    // the source, "" if the range has no mark
// Two counters to be read as 64-bit variables: opkit_taint_ranges (0 if opkit_tainted() is) and opkit_frees, which grows
// whenever device memory is given back.
typedef void (*opkit_read_fn)(const char* source);
void opkit_set_uncomputed_reader(opkit_read_fn reader);

// ---- evidence --------------------------------------------------------------------------------------------------------
// JSON array of the events since the last call:
//   {"event": "launch"|"record"|"replay"|"refuse"|"capture_begin"|"capture_end"|"capture_invalid"|"ge_load"|"ge_run"
//             |"uncomputed"|"read_uncomputed"|"dropped", "name": ..., "model": id, "code": n, "reason": ..., "operator": ...}
// The journal holds the newest 65536 events; "dropped" says how many older ones were lost.
const char* opkit_journal_take(void);
// JSON array of the newest 4096 aclnn, aclop and ATB launches since the last call, with what they were given:
//   {"name": ..., "model": id or 0, "arguments": [{"kind": "tensor", "dtype", "shape", "stride", "offset", "format",
//    "storage", "storage_shape"} | {"kind": "scalar", "dtype", "value"} | {"kind": "ints"|"floats"|"bools", "value"}
//    | {"kind": "list", "items"}]}
const char* opkit_launches_take(void);
// JSON array of the names of the tasks of a captured model, in order; "null" if there is no such model.
const char* opkit_model_tasks(uint64_t model_id);

// ---- memory ----------------------------------------------------------------------------------------------------------
// 1 if [data, data + bytes) lies inside one live device allocation.
int opkit_is_device_memory(const void* data, size_t bytes);

// ---- the device --------------------------------------------------------------------------------------------------------
const char* opkit_soc_name(void);   // what aclrtGetSocName answers
const char* opkit_soc_names(void);  // JSON array of the SoCs that the stand-in can claim to be

// ---- Ascend IR -------------------------------------------------------------------------------------------------------
// Defines or replaces the prototype of one operator. Kinds are required|optional|dynamic, types are VT_INT, VT_FLOAT, ...
//   {"op":"MyOp","inputs":[["x","required"]],"outputs":[["z","required"]],"attrs":[["attr1","VT_FLOAT"]]}
// Returns 0, or 107000 if the text is not of this form (nothing is defined then).
int opkit_ir_define(const char* json);
void opkit_ir_clear(void);

// ---- GE graphs -------------------------------------------------------------------------------------------------------
typedef struct opkit_tensor {
  void* data;
  size_t bytes;
  int32_t dtype;  // ge::DataType
  int32_t ndim;
  const int64_t* dims;
} opkit_tensor;

// Called when a graph is compiled. `bytes` is the serialized graph as torchair wrote it. The callback describes the
// outputs with opkit_ge_describe_output, in the order of NetOutput's inputs, and returns
//   0 for a graph whose output shapes are all known, 1 for one with dynamic shapes, anything else to refuse the graph
//   (after opkit_set_error).
typedef int (*opkit_ge_info_fn)(uint64_t graph, const void* bytes, size_t n, void* summary);
// Called when a graph runs, on a stream that is not being captured. The callback writes each of `outputs` whose data the
// caller has allocated, and allocates every other one (data null, or beyond `n_outputs`) with opkit_ge_allocate_output.
// Returns 0, or another number to fail the run (after opkit_set_error). The callback may not keep any pointer.
typedef int (*opkit_ge_run_fn)(uint64_t graph, const opkit_tensor* inputs, size_t n_inputs, const opkit_tensor* outputs,
                               size_t n_outputs, void* call);
typedef void (*opkit_ge_remove_fn)(uint64_t graph);
void opkit_set_ge_callbacks(opkit_ge_info_fn info, opkit_ge_run_fn run, opkit_ge_remove_fn remove);
void opkit_ge_describe_output(void* summary, int32_t dtype, const int64_t* dims, int32_t ndim);
// Returns poisoned device memory for output `index`, or null if there is none or the caller has allocated that output.
void* opkit_ge_allocate_output(void* call, size_t index, int32_t dtype, const int64_t* dims, int32_t ndim, size_t bytes);

// Names the operator whose host code runs on this thread, for refusals; nested names are kept, the outermost counts.
void opkit_enter_operator(const char* name);
void opkit_leave_operator(void);

// Text that aclGetRecentErrMsg and ge::GEGetErrorMsg of this thread answer with next.
void opkit_set_error(const char* text);

#ifdef __cplusplus
}
#endif
