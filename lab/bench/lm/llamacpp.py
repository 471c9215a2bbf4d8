"""A thin layer over llama-cpp-python's C interface: one model, one context.

Its high-level class hides what is measured and compared here: several sequences in
one batch, which rows get logits, the type of the key-value cache.
"""

import ctypes

import llama_cpp as c
import numpy as np

F32, F16 = 0, 1  # ggml types of a key-value cache
BATCH = 1024  # tokens that go through a model at once


@c.llama_log_callback
def _quiet(level, text, user_data):
    pass


c.llama_log_set(_quiet, ctypes.c_void_p(0))
c.llama_backend_init()


class Model:
    """A model and a context of `sequences` sequences, `context` tokens in all.

    `repack` lets llama.cpp lay weights out anew for its faster kernels (its "extra
    buffer types"). Where it was built with AMX they include that, which faults under
    some hypervisors; see the Makefile.
    """

    def __init__(self, path, sequences, context, threads, f32_cache=False, unified=False, repack=False, flash=False):
        params = c.llama_model_default_params()
        params.n_gpu_layers = 0
        params.use_extra_bufts = repack
        self.model = c.llama_model_load_from_file(path.encode(), params)
        if not self.model:
            raise RuntimeError(f"llama.cpp cannot load {path}")
        self.vocab = c.llama_model_get_vocab(self.model)
        self.size = c.llama_vocab_n_tokens(self.vocab)
        params = c.llama_context_default_params()
        params.n_ctx = context
        params.n_batch = params.n_ubatch = BATCH
        params.n_seq_max = sequences
        params.n_threads = params.n_threads_batch = threads
        params.type_k = params.type_v = F32 if f32_cache else F16
        params.flash_attn_type = 1 if flash else 0
        params.kv_unified = unified
        params.no_perf = True
        self.context = c.llama_init_from_model(self.model, params)
        if not self.context:
            raise RuntimeError("llama.cpp cannot make a context")
        self.memory = c.llama_get_memory(self.context)
        self.batch = c.llama_batch_init(BATCH, 0, sequences)

    def tokenize(self, text, special):
        """Token ids of text (bytes), no beginning or end token added."""
        room = len(text) + 8
        ids = (c.llama_token * room)()
        count = c.llama_tokenize(self.vocab, text, len(text), ids, room, False, special)
        if count < 0:
            raise RuntimeError("llama.cpp cannot tokenise the text")
        return list(ids[:count])

    def decode(self, tokens):
        """Runs (token, position, sequences, wants logits) through the model.

        Returns a row of logits, copied, for each token that wants one.
        """
        self.run(tokens)
        return [self.row(i) for i, token in enumerate(tokens) if token[3]]

    def run(self, tokens):
        self.fill(tokens)
        status = c.llama_decode(self.context, self.batch)
        if status != 0:
            raise RuntimeError(f"llama_decode failed with {status}")

    def fill(self, tokens):
        batch = self.batch
        batch.n_tokens = len(tokens)
        for i, (token, position, sequences, wants) in enumerate(tokens):
            batch.token[i] = token
            batch.pos[i] = position
            batch.n_seq_id[i] = len(sequences)
            for j, sequence in enumerate(sequences):
                batch.seq_id[i][j] = sequence
            batch.logits[i] = wants

    def view(self, i):
        """The logits of the i-th token of the last batch, until the next batch."""
        return np.ctypeslib.as_array(c.llama_get_logits_ith(self.context, i), (self.size,))

    def row(self, i):
        return self.view(i).copy()

    def clear(self):
        c.llama_memory_clear(self.memory, True)

    def copy(self, source, target):
        """Lets target share all that source has stored."""
        c.llama_memory_seq_cp(self.memory, source, target, -1, -1)

    def remove(self, sequence, start):
        c.llama_memory_seq_rm(self.memory, sequence, start, -1)

    def close(self):
        c.llama_batch_free(self.batch)
        c.llama_free(self.context)
        c.llama_model_free(self.model)
