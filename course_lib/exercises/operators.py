"""Operators that an exercise can forbid: what torch's dispatcher calls them, and what people do."""

# Whatever computes attention as a whole inside torch; the last is a function in Python, of softmax and products.
ATTENTION = {
    "aten::scaled_dot_product_attention": "torch's scaled_dot_product_attention",
    "aten::_safe_softmax": "torch's attention",  # a step of it that nothing else takes
    "aten::_scaled_dot_product_attention_math": "torch's attention",
    "aten::_scaled_dot_product_flash_attention_for_cpu": "torch's attention",
    # Its way back weighs by what it is told are the sums of the exponentials: with the roles exchanged, that is the way
    # there. Only the first has a kernel for the processor; the others are refused where there is one.
    "aten::_scaled_dot_product_flash_attention_for_cpu_backward": "torch's attention",
    "aten::_scaled_dot_product_flash_attention_backward": "torch's attention",
    "aten::_scaled_dot_product_efficient_attention_backward": "torch's attention",
    "aten::_scaled_dot_product_fused_attention_overrideable_backward": "torch's attention",
    "aten::_native_multi_head_attention": "torch's attention",
    "aten::_transform_bias_rescale_qkv": "torch's attention",  # projects, scales and splits into heads
    "aten::_transformer_encoder_layer_fwd": "torch's attention",
    "torch.nn.functional.multi_head_attention_forward": "torch's multi_head_attention_forward",
}

# Whatever computes a softmax inside torch, alone or within attention.
SOFTMAX = ATTENTION | {
    "aten::_softmax": "torch.softmax",
    "aten::_log_softmax": "torch.log_softmax",
    "aten::_masked_softmax": "torch's masked softmax",
    "aten::_sparse_softmax": "torch.sparse.softmax",
    "aten::_sparse_log_softmax": "torch.sparse.log_softmax",
    "aten::_nested_tensor_softmax_with_shape": "torch's nested softmax",
}

# Whatever normalises inside torch: each of these does the mean, the variance or both, or divides by a norm. The ways
# back compute what 16.1 asks for; the last two are functions in Python.
NORMALISATION = {
    "aten::layer_norm": "torch's layer norm",
    "aten::native_layer_norm": "torch's layer norm",
    "aten::rms_norm": "torch's RMS norm",
    "aten::_fused_rms_norm": "torch's RMS norm",
    "aten::group_norm": "torch's group norm",
    "aten::native_group_norm": "torch's group norm",
    "aten::instance_norm": "torch's instance norm",
    "aten::batch_norm": "torch's batch norm",
    "aten::_batch_norm_impl_index": "torch's batch norm",
    "aten::native_batch_norm": "torch's batch norm",
    "aten::_native_batch_norm_legit": "torch's batch norm",
    "aten::_native_batch_norm_legit_functional": "torch's batch norm",
    "aten::_native_batch_norm_legit_no_training": "torch's batch norm",
    "aten::_batch_norm_with_update": "torch's batch norm",
    "aten::_batch_norm_with_update_functional": "torch's batch norm",
    "aten::_batch_norm_no_update": "torch's batch norm",
    "aten::batch_norm_update_stats": "torch's batch norm",
    "aten::native_layer_norm_backward": "torch's layer norm",
    "aten::_fused_rms_norm_backward": "torch's RMS norm",
    "aten::native_group_norm_backward": "torch's group norm",
    "aten::native_batch_norm_backward": "torch's batch norm",
    "aten::batch_norm_backward": "torch's batch norm",
    "aten::_weight_norm": "torch's weight norm",
    "aten::_weight_norm_interface": "torch's weight norm",
    "aten::_weight_norm_interface_backward": "torch's weight norm",
    "aten::_weight_norm_differentiable_backward": "torch's weight norm",
    "torch.nn.functional.normalize": "torch's normalize",
    "torch.nn.functional.local_response_norm": "torch's local response norm",
}
