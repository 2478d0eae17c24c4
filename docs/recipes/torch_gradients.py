"""Gradients in PyTorch: through a solve on a graph, and through a simulation step."""

import numpy as np
import torch

import dynamics as dy


class Solve(torch.autograd.Function):
    """x = A^-1 b: ``Solve.apply(values, b, system, symbolic)``, values as in `System.values`."""

    @staticmethod
    def forward(ctx, values, b, system, symbolic):
        system.values = values.detach().numpy()
        ctx.factor = system.factorize(symbolic)
        x = torch.from_numpy(ctx.factor.solve(b.detach().numpy()))
        ctx.save_for_backward(x)
        return x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        values, b = ctx.factor.solve_gradient(x.numpy(), g.contiguous().numpy())
        return torch.from_numpy(values), torch.from_numpy(b), None, None


class Step(torch.autograd.Function):
    """(q, q') of a tree after a step: ``Step.apply(x, control, space)``, a `JointSpace`."""

    @staticmethod
    def forward(ctx, x, control, space):
        state = space.model.initial_state()
        space.place(state, *np.split(x.detach().numpy(), 2))
        ctx.where = (space.model, state, control.detach().numpy().copy())
        after, _ = space.model.step(state, ctx.where[2])
        return torch.from_numpy(np.concatenate(space.read(after)))

    @staticmethod
    def backward(ctx, g):
        A, B = dy.linearize(*ctx.where, coordinates="joint")
        return g @ torch.from_numpy(A), g @ torch.from_numpy(B), None


def swing(forces, space, start):
    """Where a cart-pole is after a row of forces."""
    x = start
    for force in forces:
        x = Step.apply(x, force[None], space)
    return x


def main(steps=40, rounds=60):
    """Forces that bring the pole up from 0.3 rad with the cart at rest, by Adam."""

    model, _ = dy.zoo.cart_pole(timestep=0.02)
    space = dy.JointSpace(model)
    start = torch.tensor([0.0, 0.3, 0.0, 0.0], dtype=torch.float64)
    forces = torch.zeros(steps, dtype=torch.float64, requires_grad=True)
    adam = torch.optim.Adam([forces], lr=0.3)
    losses = []
    for _ in range(rounds):
        adam.zero_grad()
        end = swing(forces, space, start)
        loss = end[1:] @ end[1:] + 1e-4 * forces @ forces
        loss.backward()
        adam.step()
        losses.append(loss.item())
    return losses


if __name__ == "__main__":
    losses = main()
    print(f"the loss falls from {losses[0]:.3f} to {losses[-1]:.5f}")
    assert losses[-1] < 0.05 * losses[0]
