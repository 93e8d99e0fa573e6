/* The least that a program can do: the floor under starting any command. */
#include <unistd.h>

int main(void) { return write(1, "hello\n", 6) == 6 ? 0 : 1; }
