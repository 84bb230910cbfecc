// Stands for the library of a VM: what matters is its name, and that it has code.
int vm_function(int);

int vm_function(int number) { return number + 1; }
