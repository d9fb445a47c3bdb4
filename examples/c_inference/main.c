// Runs a model of fixed shapes twice on memory that the program allocates, and prints the largest
// element of each output:
//   c_inference MODEL

#include <stdio.h>
#include <stdlib.h>

#include "aoe/aoe.h"

static int complain(const char* message) {
  fprintf(stderr, "%s\n", message);
  return 2;
}

// Allocates the bytes that the model states for `info`; NULL if it is not float32 or its shape is
// not fixed.
static void* memory_for(const aoe_info* info) {
  return info->dtype == AOE_FLOAT32 && info->bytes > 0 ? malloc(info->bytes) : NULL;
}

static void fill(float* elements, size_t count, int round) {
  for (size_t i = 0; i < count; ++i) elements[i] = (float)((i * 7 + (size_t)round) % 11) / 10;
}

static void print(int round, const char* name, const aoe_output* output) {
  const float* elements = output->data;
  size_t largest = 0;
  for (size_t i = 1; i < output->bytes / sizeof(float); ++i) {
    if (elements[i] > elements[largest]) largest = i;
  }
  printf("run %d: %s [", round, name);
  for (size_t i = 0; i < output->rank; ++i) printf(" %lld", (long long)output->shape[i]);
  printf(" ] is largest at %zu: %.4f\n", largest, elements[largest]);
}

static int run_twice(const aoe_model* model, aoe_input* inputs, size_t input_count,
                     aoe_output* outputs, size_t output_count) {
  for (int round = 0; round < 2; ++round) {
    for (size_t i = 0; i < input_count; ++i) {
      fill((float*)inputs[i].data, inputs[i].bytes / sizeof(float), round);
    }
    if (aoe_model_run(model, inputs, input_count, outputs, output_count) != AOE_OK) {
      return complain(aoe_error());
    }
    for (size_t i = 0; i < output_count; ++i) {
      print(round, aoe_model_output(model, i)->name, &outputs[i]);
    }
  }
  return 0;
}

static int run_model(const aoe_model* model) {
  const size_t input_count = aoe_model_input_count(model);
  const size_t output_count = aoe_model_output_count(model);
  aoe_input* inputs = calloc(input_count + 1, sizeof *inputs);
  aoe_output* outputs = calloc(output_count + 1, sizeof *outputs);
  int result = inputs != NULL && outputs != NULL ? 0 : complain("out of memory");
  for (size_t i = 0; i < input_count && result == 0; ++i) {
    const aoe_info* info = aoe_model_input(model, i);
    inputs[i] = (aoe_input){.dtype = info->dtype, .data = memory_for(info), .bytes = info->bytes};
    if (inputs[i].data == NULL) result = complain("an input is not float32, or has no fixed shape");
  }
  for (size_t i = 0; i < output_count && result == 0; ++i) {
    const aoe_info* info = aoe_model_output(model, i);
    outputs[i] = (aoe_output){.dtype = info->dtype, .data = memory_for(info), .room = info->bytes};
    if (outputs[i].data == NULL)
      result = complain("an output is not float32, or has no fixed shape");
  }
  if (result == 0) result = run_twice(model, inputs, input_count, outputs, output_count);
  for (size_t i = 0; inputs != NULL && i < input_count; ++i) free((void*)inputs[i].data);
  for (size_t i = 0; outputs != NULL && i < output_count; ++i) free(outputs[i].data);
  free(inputs);
  free(outputs);
  return result;
}

int main(int argc, char** argv) {
  if (argc != 2) return complain("usage: c_inference MODEL");
  const aoe_options options = {.size = sizeof options, .threads = 2};
  aoe_model* model = NULL;
  if (aoe_model_load(argv[1], &options, &model) != AOE_OK) return complain(aoe_error());
  const int result = run_model(model);
  aoe_model_free(model);
  return result;
}
