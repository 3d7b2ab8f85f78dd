/*
 * core.c - the public face of the device: cores, loaded programs, executions (device.h).
 *
 * Load: static checks, costs, one schedule (with the hazard checker watching if asked). Execute:
 * bind addresses, compute values in schedule order, replay the records. A program that reads
 * registers from memory has no schedule of its own: values and time advance together at each
 * execution.
 */
#include "neuron/device/device.h"

#include "base/mem.h"
#include "neuron/device/engine.h"
#include "neuron/device/events.h"
#include "neuron/device/hazard.h"
#include "neuron/device/schedule.h"

#include <assert.h>
#include <string.h>

struct osc_core {
    osc_sheet sheet;
    osc_core_options options;
    dev_unit unit;
    uint32_t tensor_cap; /* of unit.memory.tensor */
};

struct osc_loaded {
    osc_program *program; /* one reference */
    osc_sheet sheet;
    dev_plan plan;
    dev_timeline timeline; /* empty when the plan reads data */
    dev_events events;     /* built at the first execution with a sink */
    uint64_t scratch_bytes;
};

osc_core *osc_core_new(const osc_sheet *sheet, const osc_core_options *options)
{
    assert(sheet->size == sizeof *sheet);
    assert(options == NULL || options->size == sizeof *options);
    osc_core *core = osc_calloc(1, sizeof *core);
    if (core == NULL)
        return NULL;
    core->sheet = *sheet;
    if (options != NULL)
        core->options = *options;
    dev_memory_init(&core->unit.memory, sheet);
    return core;
}

void osc_core_free(osc_core *core)
{
    if (core == NULL)
        return;
    dev_memory_free(&core->unit.memory);
    osc_free(core->unit.memory.tensor);
    osc_free(core->unit.weights);
    osc_free(core);
}

/* ---- loading ---- */

/* The program was sealed against its generation's default sheet; a core whose sheet differs in
 * sizes checks again. */
static osc_status check_sizes(const osc_core *core, const osc_program *program, osc_err *err)
{
    const osc_sheet *sheet = &core->sheet;
    osc_generation generation = osc_program_generation(program);
    if (generation != sheet->generation)
        return osc_fail(err, OSC_EINVAL, NULL, OSC_NO_OFFSET,
                        "the program is for %s, the core is a %s: compile it for this generation",
                        osc_generation_name(generation), osc_generation_name(sheet->generation));
    const osc_sheet *standard = osc_sheet_default(generation);
    if (sheet->sbuf_partition_bytes >= standard->sbuf_partition_bytes &&
        sheet->psum_partition_bytes >= standard->psum_partition_bytes &&
        sheet->matmul_free_max >= standard->matmul_free_max)
        return OSC_OK;
    for (unsigned e = 0; e < OSC_ENGINE_COUNT; e++) {
        osc_stream stream = osc_program_stream(program, (osc_engine)e);
        for (uint32_t i = 0; i < stream.count; i++) {
            osc_status status = osc_isa_check(&stream.inst[i], sheet, err);
            if (status != OSC_OK)
                return status;
        }
    }
    return OSC_OK;
}

static osc_status weights_error(const osc_program *program, uint32_t index, const char *what,
                                osc_err *err)
{
    char name[128];
    dev_name_inst(program, OSC_ENGINE_TENSOR, index, name, sizeof name);
    return osc_fail(err, OSC_EHAZARD, NULL, OSC_NO_OFFSET, "%s %s", name, what);
}

/* Each matmul must fit the weights loaded before it. Streams with branches are not followed. */
static osc_status check_weights(const osc_program *program, osc_err *err)
{
    osc_stream stream = osc_program_stream(program, OSC_ENGINE_TENSOR);
    const osc_inst *loaded = NULL;
    for (uint32_t i = 0; i < stream.count; i++)
        if (stream.inst[i].opcode == OSC_OP_BRANCH)
            return OSC_OK;
    for (uint32_t i = 0; i < stream.count; i++) {
        const osc_inst *inst = &stream.inst[i];
        if (inst->opcode == OSC_OP_LDWEIGHTS)
            loaded = inst;
        if (inst->opcode == OSC_OP_PE_TRANSPOSE)
            loaded = NULL; /* the array held the identity */
        if (inst->opcode != OSC_OP_MATMUL)
            continue;
        if (loaded == NULL)
            return weights_error(program, i, "has no ldweights before it", err);
        if (loaded->src[0].nparts != inst->src[0].nparts)
            return weights_error(program, i, "has another number of partitions than the weights",
                                 err);
        if (osc_ap_row_elems(&loaded->src[0]) != inst->dst.nparts)
            return weights_error(program, i,
                                 "has as dst other partitions than the weights have columns", err);
        if ((loaded->src[0].dtype == OSC_F32) != (inst->src[0].dtype == OSC_F32))
            return weights_error(program, i, "multiplies fp32 by a 16-bit type", err);
    }
    return OSC_OK;
}

/* Schedules with the checker watching when the core wants it. */
static osc_status schedule_checked(const osc_core *core, osc_loaded *loaded, osc_err *err)
{
    dev_hazard *hazard = NULL;
    dev_observer observer = {NULL, dev_hazard_step};
    dev_schedule_args args = {&loaded->plan, &loaded->sheet, NULL, &observer, 0};
    if (core->options.check_hazards) {
        hazard = dev_hazard_new(&loaded->plan, &loaded->sheet);
        if (hazard == NULL)
            return osc_fail(err, OSC_ENOMEM, NULL, OSC_NO_OFFSET,
                            "no memory for the hazard checker");
        observer.context = hazard;
        args.observer_count = 1;
    }
    osc_status status = dev_schedule_run(&args, &loaded->timeline, err);
    dev_hazard_free(hazard);
    return status;
}

osc_status osc_core_load(osc_core *core, osc_program *program, osc_loaded **out, osc_err *err)
{
    *out = NULL;
    osc_status status = check_sizes(core, program, err);
    if (status == OSC_OK)
        status = check_weights(program, err);
    if (status != OSC_OK)
        return status;
    osc_loaded *loaded = osc_calloc(1, sizeof *loaded);
    if (loaded == NULL)
        return osc_fail(err, OSC_ENOMEM, NULL, OSC_NO_OFFSET, "no memory to load a program");
    loaded->program = osc_program_retain(program);
    loaded->sheet = core->sheet;
    loaded->scratch_bytes = osc_program_scratch_bytes(program);
    dev_timeline_init(&loaded->timeline, true);
    status = dev_plan_make(&loaded->plan, program, &core->sheet, err);
    if (status == OSC_OK && !loaded->plan.reads_data)
        status = schedule_checked(core, loaded, err);
    if (status != OSC_OK) {
        osc_core_unload(loaded);
        return status;
    }
    *out = loaded;
    return OSC_OK;
}

void osc_core_unload(osc_loaded *loaded)
{
    if (loaded == NULL)
        return;
    dev_events_free(&loaded->events);
    dev_timeline_free(&loaded->timeline);
    dev_plan_free(&loaded->plan);
    osc_program_release(loaded->program);
    osc_free(loaded);
}

static int64_t ps_ns(int64_t ps)
{
    return (ps + 500) / 1000;
}

int64_t osc_loaded_body_ns(const osc_loaded *loaded)
{
    return loaded->plan.reads_data ? 0 : ps_ns(loaded->timeline.end_ps);
}

/* ---- executing ---- */

static osc_status ensure_unit(osc_core *core, uint32_t tensors, osc_err *err)
{
    osc_status status = dev_memory_ensure(&core->unit.memory, err);
    if (status != OSC_OK)
        return status;
    if (core->unit.weights == NULL)
        core->unit.weights = osc_calloc(1, sizeof *core->unit.weights);
    if (tensors > core->tensor_cap || core->unit.memory.tensor == NULL) {
        void *larger = osc_realloc_array(core->unit.memory.tensor, tensors + 1u, sizeof(uint8_t *));
        if (larger != NULL) {
            core->unit.memory.tensor = larger;
            core->tensor_cap = tensors;
        }
    }
    if (core->unit.weights == NULL || core->unit.memory.tensor == NULL ||
        core->tensor_cap < tensors)
        return osc_fail(err, OSC_ENOMEM, NULL, OSC_NO_OFFSET, "no memory to run a program");
    core->unit.memory.tensor_count = tensors;
    return OSC_OK;
}

static osc_status bind_slot(const osc_tensor *tensor, const osc_run *run, uint8_t **base,
                            osc_err *err)
{
    if (tensor->slot >= run->binding_count)
        return osc_fail(err, OSC_EINVAL, NULL, OSC_NO_OFFSET,
                        "tensor '%.*s' is slot %u of %u bindings", OSC_STR_FMT(tensor->name),
                        tensor->slot, run->binding_count);
    const osc_binding *binding = &run->bindings[tensor->slot];
    if (binding->bytes < tensor->span_bytes || (binding->base == NULL && tensor->span_bytes > 0))
        return osc_fail(err, OSC_EHAZARD, NULL, OSC_NO_OFFSET,
                        "tensor '%.*s' (slot %u) spans %llu bytes, its memory has %llu",
                        OSC_STR_FMT(tensor->name), tensor->slot,
                        (unsigned long long)tensor->span_bytes, (unsigned long long)binding->bytes);
    *base = binding->base;
    return OSC_OK;
}

/* Fills in the base address of every tensor. Constants are never written: sealing refused that. */
static osc_status bind_tensors(osc_core *core, const osc_loaded *loaded, const osc_run *run,
                               osc_err *err)
{
    uint32_t count;
    const osc_tensor *tensor = osc_program_tensors(loaded->program, &count);
    osc_status status = ensure_unit(core, count, err);
    uint64_t scratch_used = 0;
    if (status == OSC_OK && loaded->scratch_bytes > 0 && run->scratch == NULL)
        return osc_fail(err, OSC_EINVAL, NULL, OSC_NO_OFFSET,
                        "the program needs %llu bytes of scratch memory",
                        (unsigned long long)loaded->scratch_bytes);
    for (uint32_t i = 0; i < count && status == OSC_OK; i++) {
        uint8_t **base = &core->unit.memory.tensor[i];
        if (tensor[i].kind == OSC_TENSOR_SCRATCH) {
            *base = run->scratch + scratch_used;
            scratch_used += (tensor[i].span_bytes + OSC_SCRATCH_ALIGN - 1) / OSC_SCRATCH_ALIGN *
                            OSC_SCRATCH_ALIGN;
        } else if (tensor[i].kind == OSC_TENSOR_CONST) {
            *base = (uint8_t *)(uintptr_t)tensor[i].bytes;
        } else {
            status = bind_slot(&tensor[i], run, base, err);
        }
    }
    return status;
}

static void run_values(osc_core *core, const osc_loaded *loaded)
{
    const osc_inst *stream[OSC_ENGINE_COUNT];
    for (unsigned e = 0; e < OSC_ENGINE_COUNT; e++)
        stream[e] = osc_program_stream(loaded->program, (osc_engine)e).inst;
    const dev_timeline *t = &loaded->timeline;
    for (size_t i = 0; i < t->step_count; i++)
        dev_execute(&core->unit, &stream[t->step[i].engine][t->step[i].index]);
}

/* Observer of a run whose values decide its control flow. */
typedef struct value_side {
    osc_core *core;
    const osc_loaded *loaded;
} value_side;

static osc_status execute_step(void *context, const dev_step *step, osc_err *err)
{
    value_side *side = context;
    (void)err;
    osc_stream stream = osc_program_stream(side->loaded->program, (osc_engine)step->engine);
    dev_execute(&side->core->unit, &stream.inst[step->index]);
    return OSC_OK;
}

static void emit_finding(const dev_hazard *hazard, const osc_run *run)
{
    const dev_finding *finding = dev_hazard_finding(hazard);
    osc_event event;
    memset(&event, 0, sizeof event);
    event.kind = OSC_EV_HAZARD;
    event.engine = finding->engine;
    event.issuer = finding->other_engine;
    event.index = finding->index;
    event.exec = run->exec;
    event.ready_ns = event.start_ns = event.end_ns = run->start_ns;
    event.a = (uint64_t)finding->rule;
    event.b = finding->other_index;
    run->sink->emit(run->sink->context, &event, 1);
}

/* Values and time together, with the checker in front so that it sees a step before its effect. */
static osc_status run_with_data(osc_core *core, const osc_loaded *loaded, const osc_run *run,
                                dev_timeline *timeline, osc_err *err)
{
    value_side side = {core, loaded};
    dev_hazard *hazard = NULL;
    if (core->options.check_hazards) {
        hazard = dev_hazard_new(&loaded->plan, &loaded->sheet);
        if (hazard == NULL)
            return osc_fail(err, OSC_ENOMEM, NULL, OSC_NO_OFFSET,
                            "no memory for the hazard checker");
    }
    dev_observer observers[2] = {{hazard, dev_hazard_step}, {&side, execute_step}};
    dev_schedule_args args = {&loaded->plan, &loaded->sheet, &core->unit.reg,
                              hazard != NULL ? observers : observers + 1, hazard != NULL ? 2 : 1};
    osc_status status = dev_schedule_run(&args, timeline, err);
    if (status == OSC_EHAZARD && hazard != NULL && run->sink != NULL)
        emit_finding(hazard, run);
    dev_hazard_free(hazard);
    return status;
}

static void fill_result(const dev_timeline *t, osc_run_result *result)
{
    if (result == NULL)
        return;
    result->body_ns = ps_ns(t->end_ps);
    result->instructions = t->instructions;
    result->transfers = t->transfers;
    result->dma_bytes = t->dma_bytes;
    for (unsigned e = 0; e < OSC_ENGINE_COUNT; e++)
        result->busy_ns[e] = ps_ns(t->busy_ps[e]);
}

static osc_status execute_dynamic(osc_core *core, osc_loaded *loaded, const osc_run *run,
                                  osc_run_result *result, osc_err *err)
{
    dev_timeline timeline;
    dev_events events = {NULL, 0};
    if (!run->values)
        return osc_fail(err, OSC_EUNSUPPORTED, NULL, OSC_NO_OFFSET,
                        "the program's control flow reads memory: run it with values");
    dev_timeline_init(&timeline, run->sink != NULL);
    osc_status status = run_with_data(core, loaded, run, &timeline, err);
    if (status == OSC_OK && run->sink != NULL)
        status = dev_events_build(&loaded->plan, &timeline, &loaded->sheet, &events, err);
    if (status == OSC_OK) {
        fill_result(&timeline, result);
        if (run->sink != NULL)
            dev_events_emit(&events, run->start_ns, run->exec, run->sink);
    }
    dev_events_free(&events);
    dev_timeline_free(&timeline);
    return status;
}

static osc_status execute_static(osc_core *core, osc_loaded *loaded, const osc_run *run,
                                 osc_run_result *result, osc_err *err)
{
    if (run->sink != NULL && loaded->events.event == NULL) {
        osc_status status = dev_events_build(&loaded->plan, &loaded->timeline, &loaded->sheet,
                                             &loaded->events, err);
        if (status != OSC_OK)
            return status;
    }
    if (run->values)
        run_values(core, loaded);
    fill_result(&loaded->timeline, result);
    if (run->sink != NULL)
        dev_events_emit(&loaded->events, run->start_ns, run->exec, run->sink);
    return OSC_OK;
}

osc_status osc_core_execute(osc_core *core, osc_loaded *loaded, const osc_run *run,
                            osc_run_result *result, osc_err *err)
{
    assert(run->size == sizeof *run);
    if (run->values) {
        osc_status status = bind_tensors(core, loaded, run, err);
        if (status != OSC_OK)
            return status;
        memset(core->unit.reg, 0, sizeof core->unit.reg);
        if (core->options.poison)
            dev_memory_poison(&core->unit.memory);
    }
    return loaded->plan.reads_data ? execute_dynamic(core, loaded, run, result, err)
                                   : execute_static(core, loaded, run, result, err);
}

osc_status osc_core_simulate(osc_core *core, const osc_loaded *loaded, osc_run_result *result,
                             osc_err *err)
{
    if (loaded->plan.reads_data)
        return osc_fail(err, OSC_EUNSUPPORTED, NULL, OSC_NO_OFFSET,
                        "the program's control flow reads memory: run it with values");
    dev_timeline timeline;
    dev_timeline_init(&timeline, false);
    dev_schedule_args args = {&loaded->plan, &core->sheet, NULL, NULL, 0};
    osc_status status = dev_schedule_run(&args, &timeline, err);
    if (status == OSC_OK)
        fill_result(&timeline, result);
    dev_timeline_free(&timeline);
    return status;
}
