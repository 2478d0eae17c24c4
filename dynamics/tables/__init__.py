"""From a described mechanism to the tables, workspaces and callbacks that the kernels read."""
