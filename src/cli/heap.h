/*
 * heap.h - makes the heap of this process fit for reading large files.
 */
#ifndef OSC_CLI_HEAP_H
#define OSC_CLI_HEAP_H

/*
 * Reserves address space for the heap in one piece and asks for large pages there; memory is used
 * only as it is touched. Call once, before the first allocation and before threads start. A system
 * that refuses leaves the heap as it was.
 */
void osc_heap_prepare(void);

#endif
