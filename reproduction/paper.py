"""The paper's own figures, read off its plots."""

# log predictive probability against documents, in millions
DOCUMENTS = {
    "New York Times": (0.1, 0.3, 1.0),
    "PubMed": (0.5, 8.2, 40.0),
    "Tweet": (0.5, 1.5, 7.4),
}
LPP: dict[str, dict[str, tuple[float, float, float]]] = {
    "New York Times": {
        "ML-OPE": (-8.57, -8.48, -8.456),
        "Online-OPE": (-8.61, -8.46, -8.418),
        "Streaming-OPE": (-8.82, -8.72, -8.682),
        "Online-CGS": (-8.67, -8.54, -8.499),
        "Online-CVB0": (-8.60, -8.47, -8.422),
        "Online-VB": (-8.61, -8.54, -8.506),
        "Streaming-VB": (-8.90, -8.78, -8.658),
    },
    "PubMed": {
        "ML-OPE": (-8.52, -8.07, -8.04),
        "Online-OPE": (-8.72, -7.98, -7.93),
        "Streaming-OPE": (-9.00, -8.71, -8.70),
        "Online-CGS": (-8.93, -8.39, -8.36),
        "Online-CVB0": (-8.72, -8.04, -7.99),
        "Online-VB": (-9.19, -9.02, -9.00),
        "Streaming-VB": (-9.04, -8.27, -8.09),
    },
    "Tweet": {
        "ML-OPE": (-8.49, -7.44, -7.28),
        "Online-OPE": (-8.36, -6.53, -6.12),
        "Streaming-OPE": (-8.32, -7.49, -7.39),
        "Online-CGS": (-8.93, -7.64, -7.39),
        "Online-CVB0": (-9.42, -8.34, -7.93),
        "Online-VB": (-8.36, -7.32, -7.17),
        "Streaming-VB": (-8.32, -7.29, -7.06),
    },
}
# at the end, in the order of the three collections
NPMI: dict[str, tuple[float, float, float]] = {
    "ML-OPE": (0.217, 0.149, 0.193),
    "Online-OPE": (0.233, 0.203, 0.191),
    "Streaming-OPE": (0.186, 0.156, 0.193),
    "Online-CGS": (0.237, 0.163, 0.187),
    "Online-CVB0": (0.235, 0.180, 0.168),
    "Online-VB": (0.233, 0.143, 0.210),
    "Streaming-VB": (0.214, 0.191, 0.198),
}
# hours for a million documents of the New York Times, in the authors' Python
HOURS = {
    "ML-OPE": 1.8,
    "Online-OPE": 2.3,
    "Streaming-OPE": 2.2,
    "Online-CGS": 9.0,
    "Online-CVB0": 102.0,
    "Online-VB": 361.0,
    "Streaming-VB": 350.0,
}
# seconds of inference for a document of the New York Times; VB took 1.1 to 1.5
SECONDS = {"OPE": 0.0035, "CGS": 0.019, "CVB0": 0.30, "VB": 1.3}
# standard deviation of f over ten runs "for most documents"
STABLE_SD = 20.0
