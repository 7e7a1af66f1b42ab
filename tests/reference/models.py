# SPDX-License-Identifier: Apache-2.0
"""Which model goes with which dialect, the order of its stages, and values to try."""
from llama_cpp import LlamaCpp
from minfer import Minfer
from mlx_lm import MlxLm
from mlxcel import Mlxcel
from rml import Rml
from rmlx import RMlx
from transformers import Transformers

MODELS = {"rmlx": RMlx, "mlxcel": Mlxcel, "minfer": Minfer, "rml": Rml, "llama.cpp": LlamaCpp, "mlx-lm": MlxLm,
          "transformers": Transformers}

ORDERS = {
    "rmlx": "logit_bias penalties temperature top_p min_p top_k",
    "mlxcel": "logit_bias penalties dry top_n_sigma p_less typical_p top_k top_p min_p xtc temperature",
    "minfer": "logit_bias penalties top_k top_p temperature",
    "rml": "logit_bias penalties temperature top_k top_p min_p",
    "llama.cpp": "logit_bias penalties dry top_n_sigma top_k typical_p top_p min_p xtc temperature",
    "mlx-lm": "logit_bias penalties top_p min_p xtc top_k temperature",
    "transformers":
        "logit_bias penalties no_repeat_ngram temperature top_h top_k top_p min_p typical_p epsilon eta",
}

OFF = {"temperature": 1.0, "top_k": 0, "top_p": 1.0, "min_p": 0.0, "typical_p": 1.0, "top_n_sigma": 0.0, "p_less": False,
       "xtc_probability": 0.0, "xtc_threshold": 0.1, "epsilon_cutoff": 0.0, "eta_cutoff": 0.0, "top_h": 0.0,
       "repeat_penalty": 1.0, "repeat_last_n": 64, "frequency_penalty": 0.0, "presence_penalty": 0.0,
       "dry_multiplier": 0.0, "dry_base": 1.75, "dry_allowed_length": 2, "dry_penalty_last_n": 64,
       "dynatemp_range": 0.0, "dynatemp_exponent": 1.0, "min_keep": 0, "no_repeat_ngram": 0, "draw": "cdf"}

PENALTIES = {"repeat_penalty": [1.1, 1.5, 0.8], "frequency_penalty": [0.3, -0.2], "presence_penalty": [0.5, 0.7],
             "repeat_last_n": [0, 3, 20]}
DRY = {"dry_multiplier": [0.8, 2.0], "dry_base": [1.0, 2.0], "dry_allowed_length": [1, 3], "dry_penalty_last_n": [0, 8]}
CHOICES = {
    "rmlx": {"temperature": [0.0, -1.0, 0.5, 0.7, 1.5], "top_k": [1, 2, 3, 5, 1000], "top_p": [0.0, 0.1, 0.5, 0.8, 0.95],
             "min_p": [0.02, 0.1, 0.3, 1.0], **PENALTIES},
    "minfer": {"temperature": [0.0, 1e-7, 0.5, 0.7, 1.5], "top_k": [1, 2, 3, 5, 1000],
               "top_p": [0.0, 0.1, 0.5, 0.8, 0.95], **PENALTIES},
    "rml": {"temperature": [0.0, 0.5, 0.7, 1.5], "top_k": [1, 2, 3, 5, 1000], "top_p": [0.1, 0.5, 0.8, 0.95],
            "min_p": [0.02, 0.1, 0.3, 0.99], "repeat_penalty": [1.1, 1.5, 0.8], "repeat_last_n": [0, 3, 20]},
    "mlxcel": {"temperature": [0.0, -1.0, 0.5, 0.7, 1.5], "top_k": [1, 2, 3, 5, 1000],
               "top_p": [0.0, 0.1, 0.5, 0.8, 0.95], "min_p": [0.02, 0.1, 0.3], "typical_p": [0.2, 0.5, 0.9],
               "top_n_sigma": [0.5, 1.0], "p_less": [True], "xtc_probability": [0.5, 1.0],
               "xtc_threshold": [0.05, 0.3], "dynatemp_range": [0.3, 1.0], "dynatemp_exponent": [0.5, 2.0], **DRY,
               **{**PENALTIES, "repeat_last_n": [-1, 0, 3, 20]}, "draw": ["gumbel", "rejection"]},
    "llama.cpp": {"temperature": [0.0, -1.0, 0.5, 0.7, 1.5], "top_k": [1, 2, 3, 5, 1000],
                  "top_p": [0.0, 0.1, 0.5, 0.8, 0.95], "min_p": [0.02, 0.1, 0.3, 1.0], "typical_p": [0.2, 0.5, 0.9],
                  "top_n_sigma": [0.5, 1.0], "xtc_probability": [0.5, 1.0], "xtc_threshold": [0.05, 0.3],
                  "dynatemp_range": [0.3, 1.0], "dynatemp_exponent": [0.5, 2.0], "min_keep": [1, 2, 4], **DRY,
                  **{**PENALTIES, "repeat_last_n": [-1, 0, 3, 20]}},
    "mlx-lm": {"temperature": [0.0, 0.5, 0.7, 1.5], "top_k": [1, 2, 3, 5, 1000], "top_p": [0.0, 0.1, 0.5, 0.8, 0.95],
               "min_p": [0.02, 0.1, 0.3, 1.0], "xtc_probability": [0.5, 1.0], "xtc_threshold": [0.05, 0.3],
               "min_keep": [1, 2], **PENALTIES, "draw": ["gumbel"]},
    "transformers": {"temperature": [0.5, 0.7, 1.5], "top_k": [1, 2, 3, 5, 1000], "top_p": [0.0, 0.1, 0.5, 0.8, 0.95],
                     "min_p": [0.02, 0.1, 0.3, 1.0], "typical_p": [0.2, 0.5, 0.9], "epsilon_cutoff": [0.01, 0.1],
                     "eta_cutoff": [0.002, 0.1], "top_h": [0.2, 0.8], "min_keep": [1, 2], "no_repeat_ngram": [1, 2, 3],
                     "repeat_penalty": [1.1, 1.5, 0.8], "repeat_last_n": [-1, 0, 3, 20]},
}


def order_of(request):
    """The stages that do something; an engine leaves out what is off."""
    off = {"epsilon": "epsilon_cutoff", "eta": "eta_cutoff"}
    names = []
    for name in ORDERS[request["dialect"]].split():
        key = off.get(name, name)
        if key in OFF and request["params"].get(key) == OFF[key] and name not in ("temperature", "top_p"):
            continue
        names.append(name)
    return names
