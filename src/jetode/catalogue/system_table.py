"""The table of known systems: name, title, parameters, equations, an initial state, known numbers.

``exponent`` is λ1 as the paper uses it; ``time`` is the rough time of one oscillation.  Sources: the paper
(Lorenz, Rössler); O. E. Rössler, Phys. Lett. A 71, 155 (1979); T. Hartley, Int. J. Electron. 66, 673 (1989)
for Chua with a cubic; J. C. Sprott, Phys. Rev. E 50, R647 (1994) and Phys. Lett. A 228, 271 (1997);
R. Thomas, Int. J. Bifurcation Chaos 9, 1889 (1999); Sprott, *Chaos and Time-Series Analysis* (2003).
"""

from __future__ import annotations

Row = tuple[str, str, str, str, str, dict[str, float]]

TABLE: tuple[Row, ...] = (
    ("lorenz", "Lorenz", "sigma=10 rho=28 beta=8/3",
     "x: sigma*(y - x); y: x*(rho - z) - y; z: x*y - beta*z", "1 0 0", {"exponent": 0.906, "time": 0.75}),
    ("rossler", "Rössler", "a=0.2 b=0.2 c=5.7",
     "x: -y - z; y: x + a*y; z: b + z*(x - c)", "1 0 0", {"exponent": 0.071, "time": 5.9}),
    ("chua", "Chua (cubic)", "alpha=10 beta=100/7",
     "x: alpha*(y + (x - 2*x**3)/7); y: x - y + z; z: -beta*y", "0.1 0 0", {"time": 2.5}),
    ("sprott_jerk", "Sprott jerk", "a=2.017",
     "x: y; y: z; z: -a*z + y**2 - x", "0 0 1", {"time": 6.0}),
    ("thomas", "Thomas", "b=0.18",
     "x: sin(y) - b*x; y: sin(z) - b*y; z: sin(x) - b*z", "1 0 0", {"time": 8.0}),
    ("halvorsen", "Halvorsen", "a=1.4",
     "x: -a*x - 4*y - 4*z - y**2; y: -a*y - 4*z - 4*x - z**2; z: -a*z - 4*x - 4*y - x**2",
     "-5 0 0", {"time": 1.5}),
    ("van_der_pol", "Van der Pol", "mu=1",
     "x: y; y: mu*(1 - x**2)*y - x", "1 0", {"time": 6.7}),
    ("hyper_rossler", "hyperchaotic Rössler", "a=0.25 b=3 c=0.5 d=0.05",
     "x: -y - z; y: x + a*y + w; z: b + x*z; w: -c*z + d*w", "-10 -6 0 10", {"time": 1.1}),
    ("lorenz_stenflo", "Lorenz–Stenflo", "a=2 b=0.7 c=26 d=1.5",
     "x: a*(y - x) + d*w; y: x*(c - z) - y; z: x*y - b*z; w: -x - a*w", "1 0 0 0", {"time": 1.9}),
    ("chen", "Chen", "a=35 b=3 c=28",
     "x: a*(y - x); y: (c - a)*x - x*z + c*y; z: x*y - b*z", "1 0 0", {"time": 0.6}),
    ("rucklidge", "Rucklidge", "kappa=2 lambda_=6.7",
     "x: -kappa*x + lambda_*y - y*z; y: x; z: -z + y**2", "1 0 0", {"time": 3.0}),
    ("moore_spiegel", "Moore–Spiegel", "a=10 b=4 e=9",
     "x: y; y: a*z; z: -z + e*y - x**2*y - b*x", "1 0 0", {"time": 1.3}),
    ("rayleigh_benard", "Rayleigh–Bénard", "a=30 b=5 r=18",
     "x: a*(y - x); y: r*y - x*z; z: x*y - b*z", "1 1 1", {"time": 0.9}),
    ("sprott_b", "Sprott B", "", "x: y*z; y: x - y; z: 1 - x*y", "0.05 0.05 0.05", {"time": 4.5}),
    ("sprott_c", "Sprott C", "", "x: y*z; y: x - y; z: 1 - x**2", "0.05 0.05 0.05", {"time": 4.5}),
    ("sprott_d", "Sprott D", "", "x: -y; y: x + z; z: x*z + 3*y**2", "0.05 0.05 0.05", {"time": 6.3}),
    ("sprott_e", "Sprott E", "", "x: y*z; y: x**2 - y; z: 1 - 4*x", "0.05 0.05 0.05", {"time": 6.3}),
    ("sprott_f", "Sprott F", "", "x: y + z; y: -x + 0.5*y; z: x**2 - z", "0.05 0.05 0.05", {"time": 6.3}),
    ("sprott_g", "Sprott G", "", "x: 0.4*x + z; y: x*z - y; z: -x + y", "0.05 0.05 0.05", {"time": 6.3}),
    ("sprott_h", "Sprott H", "", "x: -y + z**2; y: x + 0.5*y; z: x - z", "0.05 0.05 0.05", {"time": 6.3}),
    ("sprott_i", "Sprott I", "", "x: -0.2*y; y: x + z; z: x + y**2 - z", "0.05 0.05 0.05", {"time": 9.0}),
    ("sprott_j", "Sprott J", "", "x: 2*z; y: -2*y + z; z: -x + y + y**2", "0.05 0.05 0.05", {"time": 4.8}),
    ("sprott_k", "Sprott K", "", "x: x*y - z; y: x - y; z: x + 0.3*z", "0.05 0.05 0.05", {"time": 6.3}),
    ("sprott_l", "Sprott L", "", "x: y + 3.9*z; y: 0.9*x**2 - y; z: 1 - x", "0.05 0.05 0.05", {"time": 3.4}),
    ("sprott_m", "Sprott M", "", "x: -z; y: -x**2 - y; z: 1.7 + 1.7*x + y", "0.05 0.05 0.05", {"time": 5.4}),
    ("sprott_n", "Sprott N", "", "x: -2*y; y: x + z**2; z: 1 + y - 2*z", "0.05 0.05 0.05", {"time": 4.8}),
    ("sprott_o", "Sprott O", "", "x: y; y: x - z; z: x + x*z + 2.7*y", "0.05 0.05 0.05", {"time": 4.8}),
    ("sprott_p", "Sprott P", "", "x: 2.7*y + z; y: -x + y**2; z: x + y", "0.05 0.05 0.05", {"time": 5.3}),
    ("sprott_q", "Sprott Q", "", "x: -z; y: x - y; z: 3.1*x + y**2 + 0.5*z", "0.05 0.05 0.05", {"time": 4.8}),
    ("sprott_r", "Sprott R", "", "x: 0.9 - y; y: 0.4 + z; z: x*y - z", "0.05 0.05 0.05", {"time": 7.0}),
    ("sprott_s", "Sprott S", "", "x: -x - 4*y; y: x + z**2; z: 1 + x", "0.05 0.05 0.05", {"time": 3.4}),
)  # fmt: skip
