// Loads ONNX models and runs them on the caller's memory. For C99; model.h is the same for C++.
//
//   aoe_model* model = NULL;
//   if (aoe_model_load("resnet50.onnx", NULL, &model) != AOE_OK) return report(aoe_error());
//   aoe_input image = {.dtype = AOE_FLOAT32, .data = pixels, .bytes = sizeof pixels};
//   aoe_output scores = {.dtype = AOE_FLOAT32, .data = numbers, .room = sizeof numbers};
//   if (aoe_model_run(model, &image, 1, &scores, 1) != AOE_OK) return report(aoe_error());
//   aoe_model_free(model);
//
// Threads: any number of threads may use a model at the same time, each run with separate memory.
// Errors: a function that can fail returns a status, and aoe_error() returns the message.
// Memory: the caller keeps ownership of what it passes; it is not accessed after the call.
// Versions: aoe_options may grow at its end (its `size` says which fields there are); aoe_info may
// grow at its end (only the library creates it); nothing else here changes.
#pragma once

#include <stddef.h>
#include <stdint.h>

#define AOE_API __attribute__((visibility("default")))

#ifdef __cplusplus
extern "C" {
#endif

typedef enum aoe_status {
  AOE_OK = 0,
  AOE_FAILED = 1,     // aoe_error() says what was found, where, and what is expected
  AOE_TOO_SMALL = 2,  // memory for an output is too small: aoe_output.bytes is the required size
  AOE_NO_MEMORY = 3,  // out of memory
} aoe_status;

// Element types, numbered as in ONNX. An element of fewer than eight bits takes one byte.
typedef int aoe_dtype;
enum {
  AOE_UNKNOWN = 0,  // also of values that are not tensors: sequences, optional values
  AOE_FLOAT32 = 1,
  AOE_UINT8 = 2,
  AOE_INT8 = 3,
  AOE_UINT16 = 4,
  AOE_INT16 = 5,
  AOE_INT32 = 6,
  AOE_INT64 = 7,
  AOE_STRING = 8,  // a model may have strings, but they cannot be passed here
  AOE_BOOL = 9,    // one byte, 0 or 1; in inputs any other value counts as 1
  AOE_FLOAT16 = 10,
  AOE_FLOAT64 = 11,
  AOE_UINT32 = 12,
  AOE_UINT64 = 13,
  AOE_BFLOAT16 = 16,
  AOE_FLOAT8_E4M3FN = 17,
  AOE_FLOAT8_E4M3FNUZ = 18,
  AOE_FLOAT8_E5M2 = 19,
  AOE_FLOAT8_E5M2FNUZ = 20,
  AOE_UINT4 = 21,
  AOE_INT4 = 22,
  AOE_FLOAT4_E2M1FN = 23,
  AOE_FLOAT8_E8M0FNU = 24,
  AOE_UINT2 = 25,
  AOE_INT2 = 26,
};

// A loaded model: created by a load function, immutable, freed by aoe_model_free.
typedef struct aoe_model aoe_model;

// Description of an input or output. It belongs to the model.
typedef struct aoe_info {
  const char* name;
  aoe_dtype dtype;
  size_t rank;
  const int64_t*
      shape;     // -1 for an open dimension, which each run determines; NULL if the rank is open
  size_t bytes;  // of all elements; 0 if a dimension is open
} aoe_info;

// Fixes the open dimensions of an input on load; -1 leaves one open. At most one per input, with a
// rank of at most AOE_MAX_RANK.
typedef struct aoe_input_shape {
  const char* name;
  const int64_t* shape;
  size_t rank;
} aoe_input_shape;

typedef struct aoe_options {
  size_t size;          // sizeof(aoe_options); fields beyond it count as 0
  int threads;          // maximum per run, up to 1024; 0: as many as usable cores
  const char* kernels;  // widest vectors: "sse2", "avx2", "avx512"; "reference": slow evaluator
  const aoe_input_shape* input_shapes;
  size_t input_shape_count;
  // "high_performance" (also if NULL), or "high_precision": direct algorithms only; for the
  // operators that the list names ("Conv,MatMul"), or all if it is NULL.
  const char* op_select_implmode;
  const char* optypelist_for_implmode;
  int allow_strassen;  // not 0: policies may use Strassen's algorithm, which mixes rows of a batch
} aoe_options;

// An input of a run: elements of the input's type, dense and row-major, at any address.
typedef struct aoe_input {
  aoe_dtype dtype;
  const void* data;      // NULL omits an optional input
  size_t bytes;          // must be the size of all elements
  const int64_t* shape;  // NULL: that of the model, which must have no open dimension then
  size_t rank;           // of `shape`, at most AOE_MAX_RANK
} aoe_input;

enum { AOE_MAX_RANK = 16 };

// An output of a run. Its memory must not overlap any input or other output of the run.
typedef struct aoe_output {
  aoe_dtype dtype;  // of `data`; set by a run that allocates it
  void* data;       // NULL: the run allocates memory, which aoe_output_free frees
  size_t room;      // size of `data` in bytes

  // Set by the run:
  size_t bytes;                 // of all elements
  size_t rank;                  // at most AOE_MAX_RANK
  int64_t shape[AOE_MAX_RANK];  // the first `rank` extents are set
  void* owner;                  // of memory that the run allocated; the caller sets it to NULL
} aoe_output;

// "0.1.0"
AOE_API const char* aoe_version(void);

// Message of this thread's last call that failed, valid until the next one that fails. Never NULL.
AOE_API const char* aoe_error(void);

// Loads a model from a file, or from its bytes, which need not outlive the call. `options` may be
// NULL. If all shapes are fixed, kernels are compiled now, else by the first run with each shape.
AOE_API aoe_status aoe_model_load(const char* file, const aoe_options* options, aoe_model** model);
AOE_API aoe_status aoe_model_load_bytes(const void* bytes, size_t size, const aoe_options* options,
                                        aoe_model** model);

// Frees a model and everything that belongs to it; no other call may use it. NULL is allowed.
AOE_API void aoe_model_free(aoe_model* model);

// Inputs and outputs, numbered from 0; NULL beyond the last. A model that is NULL has none.
AOE_API size_t aoe_model_input_count(const aoe_model* model);
AOE_API size_t aoe_model_output_count(const aoe_model* model);
AOE_API const aoe_info* aoe_model_input(const aoe_model* model, size_t index);
AOE_API const aoe_info* aoe_model_output(const aoe_model* model, size_t index);

// Computes all outputs from all inputs, both in the model's order. After AOE_TOO_SMALL the sizes
// and shapes of all outputs are set; if they follow from the shapes of the inputs, nothing has been
// computed. After any other failure the contents of outputs are undefined.
AOE_API aoe_status aoe_model_run(const aoe_model* model, const aoe_input* inputs,
                                 size_t input_count, aoe_output* outputs, size_t output_count);

// Frees memory that a run allocated for an output; the caller's memory is not touched. NULL is
// allowed.
AOE_API void aoe_output_free(aoe_output* output);

// NumPy's name of a type, "float32" ("unknown" if there is none), and the type of a name,
// AOE_UNKNOWN for NULL and unknown names.
AOE_API const char* aoe_dtype_name(aoe_dtype dtype);
AOE_API aoe_dtype aoe_dtype_named(const char* name);
// Bytes of an element; 0 for strings and AOE_UNKNOWN.
AOE_API size_t aoe_dtype_bytes(aoe_dtype dtype);

#ifdef __cplusplus
}
#endif
