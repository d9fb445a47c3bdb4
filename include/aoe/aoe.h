// Loads ONNX models and runs them on memory of the caller's. For C99; model.h is the same for C++.
//
//   aoe_model* model = NULL;
//   if (aoe_model_load("resnet50.onnx", NULL, &model) != AOE_OK) return report(aoe_error());
//   aoe_input image = {.dtype = AOE_FLOAT32, .data = pixels, .bytes = sizeof pixels};
//   aoe_output scores = {.dtype = AOE_FLOAT32, .data = numbers, .room = sizeof numbers};
//   if (aoe_model_run(model, &image, 1, &scores, 1) != AOE_OK) return report(aoe_error());
//   aoe_model_free(model);
//
// Threads: any number of them may use a model at the same time, each run with separate memory.
// Errors: a function that can fail returns a status, and aoe_error() says what is wrong.
// Memory: what the caller passes stays the caller's and is not looked at after the call.
// Versions: aoe_options grows at its end, which its size tells; aoe_info grows at its end and is
// made by the library only; nothing else here changes.
#pragma once

#include <stddef.h>
#include <stdint.h>

#define AOE_API __attribute__((visibility("default")))

#ifdef __cplusplus
extern "C" {
#endif

typedef enum aoe_status {
  AOE_OK = 0,
  AOE_FAILED = 1,     // aoe_error() says what was found, where, and what is asked
  AOE_TOO_SMALL = 2,  // the memory for an output: aoe_output.bytes says what each one needs
  AOE_NO_MEMORY = 3,  // the machine's does not suffice
} aoe_status;

// Element types; the numbers are ONNX's. An element of fewer than eight bits takes one byte.
typedef int aoe_dtype;
enum {
  AOE_UNKNOWN = 0,  // also what is no tensor: sequences, optional values
  AOE_FLOAT32 = 1,
  AOE_UINT8 = 2,
  AOE_INT8 = 3,
  AOE_UINT16 = 4,
  AOE_INT16 = 5,
  AOE_INT32 = 6,
  AOE_INT64 = 7,
  AOE_STRING = 8,  // a model may have some, but they cannot be passed here
  AOE_BOOL = 9,    // one byte: 0 or 1; whatever else is given counts as 1
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

// A loaded model: made by a load function, given back by aoe_model_free, never changed in between.
typedef struct aoe_model aoe_model;

// What a model says of an input or output. It belongs to the model.
typedef struct aoe_info {
  const char* name;
  aoe_dtype dtype;
  size_t rank;
  const int64_t*
      shape;     // -1 for a dimension that each run decides; NULL where even the rank is open
  size_t bytes;  // of all elements; 0 while a dimension is open
} aoe_info;

// The shape to load a model for, where an input leaves dimensions open; -1 leaves one open. Each
// input is named once, its rank at most AOE_MAX_RANK.
typedef struct aoe_input_shape {
  const char* name;
  const int64_t* shape;
  size_t rank;
} aoe_input_shape;

typedef struct aoe_options {
  size_t size;          // sizeof(aoe_options); all that is left out is 0
  int threads;          // that a run may use, at most 1024; 0: all cores this process may use
  const char* kernels;  // "sse2", "avx2" or "avx512": no wider vectors; "reference": slow and plain
  const aoe_input_shape* input_shapes;
  size_t input_shape_count;
} aoe_options;

// What a run reads: elements of the input's type, dense and row-major, anywhere in memory.
typedef struct aoe_input {
  aoe_dtype dtype;
  const void* data;      // NULL leaves out an optional input
  size_t bytes;          // must be what the elements take
  const int64_t* shape;  // NULL: as the model says, which must have no open dimension then
  size_t rank;           // of `shape`, at most AOE_MAX_RANK
} aoe_input;

enum { AOE_MAX_RANK = 16 };

// What a run writes. It must not overlap any other input or output of the run.
typedef struct aoe_output {
  aoe_dtype dtype;  // of the memory; set by a run that finds the memory
  void* data;       // NULL: the run finds memory, and aoe_output_free gives it back
  size_t room;      // bytes there

  // Set by the run:
  size_t bytes;                 // of all elements
  size_t rank;                  // at most AOE_MAX_RANK
  int64_t shape[AOE_MAX_RANK];  // the first `rank` of them
  void* owner;                  // of memory that the run has found; NULL at first
} aoe_output;

// "0.1.0"
AOE_API const char* aoe_version(void);

// What went wrong in this thread's last call that failed, valid until its next one. Never NULL.
AOE_API const char* aoe_error(void);

// Loads a model from a file, or from the bytes of one, which may go afterwards. `options` may be
// NULL. Where all shapes are fixed, kernels are compiled now, otherwise by the first run with them.
AOE_API aoe_status aoe_model_load(const char* file, const aoe_options* options, aoe_model** model);
AOE_API aoe_status aoe_model_load_bytes(const void* bytes, size_t size, const aoe_options* options,
                                        aoe_model** model);

// Once nobody uses the model, or anything that belongs to it. NULL is allowed.
AOE_API void aoe_model_free(aoe_model* model);

// Inputs and outputs, numbered from 0; NULL beyond the last. A model that is NULL has none.
AOE_API size_t aoe_model_input_count(const aoe_model* model);
AOE_API size_t aoe_model_output_count(const aoe_model* model);
AOE_API const aoe_info* aoe_model_input(const aoe_model* model, size_t index);
AOE_API const aoe_info* aoe_model_output(const aoe_model* model, size_t index);

// Computes all outputs from all inputs, both as the model numbers them. After AOE_TOO_SMALL the
// sizes and shapes of all outputs are set; if they follow from the inputs' shapes, nothing has been
// computed. After any other failure, what outputs hold means nothing.
AOE_API aoe_status aoe_model_run(const aoe_model* model, const aoe_input* inputs,
                                 size_t input_count, aoe_output* outputs, size_t output_count);

// Gives back memory that a run has found for an output; the caller's memory is left alone.
// NULL is allowed.
AOE_API void aoe_output_free(aoe_output* output);

// numpy's name of a type, "float32", and the type of such a name, or AOE_UNKNOWN, also
// that of NULL.
AOE_API const char* aoe_dtype_name(aoe_dtype dtype);
AOE_API aoe_dtype aoe_dtype_named(const char* name);
// Bytes an element takes; 0 for strings and AOE_UNKNOWN.
AOE_API size_t aoe_dtype_bytes(aoe_dtype dtype);

#ifdef __cplusplus
}
#endif
