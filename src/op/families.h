#pragma once

#include <vector>

#include "op/operator.h"

namespace aoe {

// The operators that one source file defines. Each such file ends with its table.
using OpTable = std::vector<OpDef>;

const OpTable& activation_operators();
const OpTable& attention_operators();
const OpTable& classic_ml_operators();
const OpTable& compare_operators();
const OpTable& contraction_operators();
const OpTable& control_flow_operators();
const OpTable& conversion_operators();
const OpTable& convolution_operators();
const OpTable& elementwise_operators();
const OpTable& gather_operators();
const OpTable& generate_operators();
const OpTable& loss_operators();
const OpTable& movement_operators();
const OpTable& normalization_operators();
const OpTable& optimizer_operators();
const OpTable& padding_operators();
const OpTable& pooling_operators();
const OpTable& quantization_operators();
const OpTable& random_operators();
const OpTable& recurrent_operators();
const OpTable& reduction_operators();
const OpTable& resize_operators();
const OpTable& roi_operators();
const OpTable& sampling_operators();
const OpTable& scan_operators();
const OpTable& scatter_operators();
const OpTable& selection_operators();
const OpTable& sequence_operators();
const OpTable& shape_operators();
const OpTable& signal_operators();
const OpTable& softmax_operators();
const OpTable& string_operators();
const OpTable& transformer_operators();
const OpTable& transposed_operators();
const OpTable& vectorizer_operators();
const OpTable& vision_operators();

}  // namespace aoe
