"""Gradients in JAX, under ``jit`` too: through a solve on a graph, through a simulation step."""

import jax
import numpy as np
from jax import numpy as jnp

import dynamics as dy

jax.config.update("jax_enable_x64", True)


def solver(system, symbolic):
    """``solve(values, b)`` = A^-1 b, values as in `System.values`."""

    def factor_of(values):
        system.values = np.asarray(values)
        return system.factorize(symbolic)

    def solve_numbers(values, b):
        return factor_of(values).solve(np.asarray(b))

    def gradient_numbers(values, x, g):
        return factor_of(values).solve_gradient(np.asarray(x), np.asarray(g))

    @jax.custom_vjp
    def solve(values, b):
        return jax.pure_callback(solve_numbers, jax.ShapeDtypeStruct(b.shape, b.dtype), values, b)

    def forward(values, b):
        x = solve(values, b)
        return x, (values, x)

    def backward(kept, g):
        values, x = kept
        shapes = tuple(jax.ShapeDtypeStruct(v.shape, v.dtype) for v in (values, x))
        return jax.pure_callback(gradient_numbers, shapes, values, x, g)

    solve.defvjp(forward, backward)
    return solve


def stepper(space):
    """``step(x, control)``: (q, q') of a tree after a step, for a `JointSpace`."""
    model = space.model

    def state_of(x):
        state = model.initial_state()
        space.place(state, *np.split(np.asarray(x), 2))
        return state

    def step_numbers(x, control):
        return np.concatenate(space.read(model.step(state_of(x), np.asarray(control))[0]))

    def slopes(x, control):
        return dy.linearize(model, state_of(x), np.asarray(control), coordinates="joint")

    @jax.custom_vjp
    def step(x, control):
        return jax.pure_callback(step_numbers, jax.ShapeDtypeStruct(x.shape, x.dtype), x, control)

    def forward(x, control):
        return step(x, control), (x, control)

    def backward(kept, g):
        x, control = kept
        k, c = x.size, control.size
        shapes = (jax.ShapeDtypeStruct((k, k), x.dtype), jax.ShapeDtypeStruct((k, c), x.dtype))
        A, B = jax.pure_callback(slopes, shapes, x, control)
        return g @ A, g @ B

    step.defvjp(forward, backward)
    return step


def main(steps=40, rounds=60):
    """Forces that bring the pole up from 0.3 rad with the cart at rest, by gradient descent."""

    model, _ = dy.zoo.cart_pole(timestep=0.02)
    step = stepper(dy.JointSpace(model))

    @jax.jit
    @jax.value_and_grad
    def loss(forces):
        start = jnp.array([0.0, 0.3, 0.0, 0.0])
        end, _ = jax.lax.scan(lambda x, force: (step(x, force[None]), None), start, forces)
        return end[1:] @ end[1:] + 1e-4 * forces @ forces

    forces, losses = jnp.zeros(steps), []
    speed = jnp.zeros(steps)
    for _ in range(rounds):
        value, gradient = loss(forces)
        speed = 0.8 * speed - 1.0 * gradient
        forces = forces + speed
        losses.append(float(value))
    return losses


if __name__ == "__main__":
    losses = main()
    print(f"the loss falls from {losses[0]:.3f} to {losses[-1]:.5f}")
    assert losses[-1] < 0.05 * losses[0]
