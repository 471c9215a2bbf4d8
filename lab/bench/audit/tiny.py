"""Makes a tiny Llama with random weights and the default model's tokenizer, with a chat template.

    tiny.py SOURCE OUT"""
import sys

import torch
from transformers import LlamaConfig, LlamaForCausalLM, AutoTokenizer
src, out = sys.argv[1:3]
t = AutoTokenizer.from_pretrained(src)
if t.chat_template is None:
    t.chat_template = "{% for m in messages %}{{ m['role'] + ': ' + m['content'] + '\n' }}{% endfor %}assistant:"
torch.manual_seed(0)
c = LlamaConfig(
    vocab_size=len(t), hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4,
    num_key_value_heads=4, max_position_embeddings=2048, bos_token_id=t.bos_token_id, eos_token_id=t.eos_token_id,
    tie_word_embeddings=False, initializer_range=0.3)
m = LlamaForCausalLM(c)
m.save_pretrained(out); t.save_pretrained(out)
