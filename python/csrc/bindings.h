// bindings.h - the pieces that add functions to torch_neuronx._C; module.cpp calls each once.
#pragma once

#include <Python.h>

void bind_profiler(PyObject *module);
void bind_compiled_graph(PyObject *module);
