/*
 * plan.c - a program's costs, computed when it is loaded (see schedule.h).
 */
#include "neuron/device/schedule.h"

#include "base/mem.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* How far back an instruction looks for one whose result it reads: as deep as an engine's
 * pipeline gets, since the fixed latency is at most a few of the shortest instructions long. */
enum { LOOK_BACK = 4 };

static bool depends_on_recent(const osc_inst *stream, uint32_t index)
{
    const osc_inst *inst = &stream[index];
    if (inst->engine == OSC_ENGINE_TENSOR &&
        (inst->opcode == OSC_OP_MATMUL || inst->opcode == OSC_OP_LDWEIGHTS ||
         inst->opcode == OSC_OP_PE_TRANSPOSE))
        return false; /* the array reads SBUF only and writes PSUM only */
    uint32_t first = index > LOOK_BACK ? index - LOOK_BACK : 0;
    for (uint32_t i = first; i < index; i++)
        if (dev_reads_result(inst, &stream[i]))
            return true;
    return false;
}

static bool is_transfer(const osc_inst *inst)
{
    return inst->opcode == OSC_OP_DMA_COPY || inst->opcode == OSC_OP_DMA_TRANSPOSE;
}

static uint32_t count_transfers(const osc_program *program)
{
    uint32_t n = 0;
    for (unsigned e = 0; e < OSC_ENGINE_COUNT; e++) {
        osc_stream stream = osc_program_stream(program, (osc_engine)e);
        for (uint32_t i = 0; i < stream.count; i++)
            n += is_transfer(&stream.inst[i]);
    }
    return n;
}

static void fill_stream(dev_plan *plan, unsigned engine, const osc_sheet *sheet)
{
    osc_stream stream = osc_program_stream(plan->program, (osc_engine)engine);
    for (uint32_t i = 0; i < stream.count; i++) {
        const osc_inst *inst = &stream.inst[i];
        dev_cost *cost = &plan->cost[engine][i];
        *cost = dev_cost_of(inst, sheet);
        cost->depends = depends_on_recent(stream.inst, i);
        if (inst->opcode == OSC_OP_REG_LOAD)
            plan->reads_data = true;
        if (is_transfer(inst)) {
            cost->transfer = plan->transfer_count;
            plan->transfer[plan->transfer_count++] = dev_transfer_cost_of(inst, sheet);
        }
    }
}

osc_status dev_plan_make(dev_plan *plan, const osc_program *program, const osc_sheet *sheet,
                         osc_err *err)
{
    memset(plan, 0, sizeof *plan);
    plan->program = program;
    uint32_t transfers = count_transfers(program);
    plan->transfer = osc_calloc(transfers + 1u, sizeof *plan->transfer);
    bool complete = plan->transfer != NULL;
    for (unsigned e = 0; e < OSC_ENGINE_COUNT && complete; e++) {
        plan->count[e] = osc_program_stream(program, (osc_engine)e).count;
        plan->cost[e] = osc_calloc(plan->count[e] + 1u, sizeof *plan->cost[e]);
        complete = plan->cost[e] != NULL;
        if (complete)
            fill_stream(plan, e, sheet);
    }
    if (complete) {
        assert(plan->transfer_count == transfers);
        return OSC_OK;
    }
    dev_plan_free(plan);
    return osc_fail(err, OSC_ENOMEM, NULL, OSC_NO_OFFSET,
                    "no memory for the costs of %u instructions", osc_program_inst_count(program));
}

void dev_plan_free(dev_plan *plan)
{
    for (unsigned e = 0; e < OSC_ENGINE_COUNT; e++)
        osc_free(plan->cost[e]);
    osc_free(plan->transfer);
    memset(plan, 0, sizeof *plan);
}

void dev_name_inst(const osc_program *program, unsigned engine, uint32_t index, char *out,
                   size_t cap)
{
    osc_stream stream = osc_program_stream(program, (osc_engine)engine);
    assert(index < stream.count);
    const osc_inst *inst = &stream.inst[index];
    const osc_isa_row *row = osc_isa_row_of(inst->opcode);
    uint32_t sources;
    const osc_source *source = osc_program_sources(program, &sources);
    int used = snprintf(out, cap, "%s[%u] %s", osc_engine_name((osc_engine)engine), index,
                        row != NULL ? row->name : "?");
    if (inst->source < sources && used > 0 && (size_t)used < cap)
        snprintf(out + used, cap - (size_t)used, " of %.*s", OSC_STR_FMT(source[inst->source].op));
}
