"""Turns a GGUF file of a Llama model into a folder that vLLM loads.

    vllm_model.py GGUF DIR

The weights are dequantised to float32, so that the server evaluates exactly what
is in the file. Only what the default model needs: the llama architecture with a
byte-level BPE vocabulary and the `smollm` splitting of text.
"""

import json
import os
import sys

import numpy as np
from gguf import GGUFReader, dequantize
from safetensors.numpy import save_file
from tokenizers import AddedToken, Regex, Tokenizer, decoders, pre_tokenizers
from tokenizers.models import BPE

CONTROL = 3  # the token type of marks


def halves(rows, heads):
    """Undoes GGUF's order of the rows of q and k, in which rotated pairs are neighbours."""
    size = rows.shape[0] // heads
    return rows.reshape(heads, size // 2, 2, -1).swapaxes(1, 2).reshape(rows.shape)


def weights(reader, heads, kv_heads):
    names = {"token_embd": "model.embed_tokens", "output_norm": "model.norm", "output": "lm_head"}
    parts = {
        "attn_norm": "input_layernorm", "ffn_norm": "post_attention_layernorm",
        "attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj",
        "attn_v": "self_attn.v_proj", "attn_output": "self_attn.o_proj",
        "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj", "ffn_down": "mlp.down_proj",
    }
    out = {}
    for tensor in reader.tensors:
        name = tensor.name.removesuffix(".weight")
        values = dequantize(tensor.data, tensor.tensor_type).astype(np.float32)
        if name.startswith("blk."):
            _, layer, part = name.split(".")
            if part in ("attn_q", "attn_k"):
                values = halves(values, heads if part == "attn_q" else kv_heads)
            name = f"model.layers.{layer}.{parts[part]}"
        else:
            name = names[name]
        out[name + ".weight"] = np.ascontiguousarray(values)
    return out


def tokenizer(field):
    tokens = field("tokenizer.ggml.tokens")
    merges = [tuple(m.split(" ", 1)) for m in field("tokenizer.ggml.merges")]
    made = Tokenizer(BPE({t: i for i, t in enumerate(tokens)}, merges))
    made.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(r"\p{N}"), "isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True),
    ])
    made.decoder = decoders.ByteLevel()
    marks = [t for t, kind in zip(tokens, field("tokenizer.ggml.token_type")) if kind == CONTROL]
    made.add_special_tokens([AddedToken(t, special=True, normalized=False) for t in marks])
    return made, tokens, marks


def main(path, folder):
    reader = GGUFReader(path)

    def field(key):
        return reader.fields[key].contents()

    if field("general.architecture") != "llama" or field("tokenizer.ggml.pre") != "smollm":
        sys.exit("this script reads llama models with the smollm vocabulary only")
    os.makedirs(folder, exist_ok=True)
    heads, kv_heads = field("llama.attention.head_count"), field("llama.attention.head_count_kv")
    tensors = weights(reader, heads, kv_heads)
    save_file(tensors, os.path.join(folder, "model.safetensors"), {"format": "pt"})
    width = field("llama.embedding_length")
    made, tokens, marks = tokenizer(field)
    bos, eos = field("tokenizer.ggml.bos_token_id"), field("tokenizer.ggml.eos_token_id")
    config = {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_size": width,
        "num_hidden_layers": field("llama.block_count"),
        "num_attention_heads": heads,
        "num_key_value_heads": kv_heads,
        "head_dim": width // heads,
        "intermediate_size": field("llama.feed_forward_length"),
        "vocab_size": len(tokens),
        "rope_theta": field("llama.rope.freq_base"),
        "rms_norm_eps": field("llama.attention.layer_norm_rms_epsilon"),
        "tie_word_embeddings": "lm_head.weight" not in tensors,
        "max_position_embeddings": field("llama.context_length"),
        "hidden_act": "silu",
        "dtype": "float32",
        "bos_token_id": bos,
        "eos_token_id": eos,
    }
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": tokens[bos],
        "eos_token": tokens[eos],
        "additional_special_tokens": marks,
        "add_bos_token": False,
        "clean_up_tokenization_spaces": False,
        "model_max_length": field("llama.context_length"),
        "chat_template": field("tokenizer.chat_template"),
    }
    for name, value in {"config.json": config, "tokenizer_config.json": settings}.items():
        with open(os.path.join(folder, name), "w") as f:
            json.dump(value, f, indent=1)
    made.save(os.path.join(folder, "tokenizer.json"))


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
