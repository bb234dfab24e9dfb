/* Grids on the host in machine code: who runs which blocks, the threads that help, and how a launch is interrupted. */

#include "replay.h"
#include "transfer.h"

/* The function by its number: launch_grid, the handler of the engine's signal, what settles on a signal, replay, or
 * transfer. It comes first, as code is known by where it begins. */
void *part(int32_t number) {
  return number == 0   ? (void *)launch_grid
         : number == 1 ? (void *)on_signal
         : number == 2 ? (void *)settle_here
         : number == 3 ? (void *)replay
                       : (void *)transfer;
}
