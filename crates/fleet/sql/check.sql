-- The latest check-up of each node, and the repeats of earlier suspects. Strata are never mixed.
create table ordered as
select *, row_number() over (partition by node order by started_utc desc, run_id desc) as latest,
  count(*) over (partition by node) as runs,
  count(distinct serials_hash) over (partition by node) > 1 as is_two_machines
from node_rows where node is not null and experiment = 'check-up';
create table run as
select row_number() over (order by node) - 1 as n,
  dense_rank() over (order by coalesce(cpu_model, ''), preset, kernel_set_version) - 1 as stratum,
  -- As a check-up doubts itself: other programs used 15 % of all CPUs. Guests always lose something to others.
  coalesce(others_share > 0.15, false) or coalesce(steal_share > steal_limit, false) as is_busy, *
from ordered, (
  select greatest(0.02, coalesce(median(steal_share) + 6 * 1.4826 * mad(steal_share), 0)) as steal_limit
  from ordered where latest = 1)
where latest = 1;
create table source as
select run_id, n, stratum, is_busy, null as experiment, null as arm, node from run
union all
select run_id, null, null, false, experiment, arm, node from node_rows where experiment like 'confirm-%';

-- One number of a run, as a logarithm: above is worse. A key is what is compared between nodes.
create table value as
select source.run_id, n, stratum, is_busy, family, socket,
  metric || coalesce(' cpu ' || cpu, '') || coalesce(' node ' || mem_node, '') as key,
  if(higher_is_better, -1, 1) * ln(estimate) as y
from metric_rows join source using (run_id)
where estimate > 0 and isfinite(estimate) and quality <> 'unstable';
create table metric as
select row_number() over (order by stratum, key) - 1 as m, *
from (
  select stratum, key, mode(family) as family, any_value(socket) as socket,
    median(y) filter (not is_busy) as centre
  from value where n is not null group by stratum, key)
where centre is not null;

-- Every column of nodes and inventory, and every setting and workaround, is a factor.
create table state as
select n, stratum, kind, id, arg_min(state, coalesce(rank, 9)) as state, arg_max(rate_ppb, abs(rate_ppb)) as rate_ppb
from (
  select n, stratum, kind, if(starts_with(id, 'pair/'), 'counters', id) as id, rate_ppb,
    coalesce(value, concat_ws(', ', workaround, protected)) as state,
    list_position(['moves', 'offset', 'unknown', 'agrees'], value) as rank
  from state_rows join run using (run_id))
where state <> '' group by n, stratum, kind, id;
create table nested as
select rack.node, 'rack/chassis' as factor, rack.level || '/' || chassis.level as level
from place rack join place chassis using (node) where rack.factor = 'rack' and chassis.factor = 'chassis';
create table factor as
select n, stratum, factor, level from place join run using (node)
union all
select n, stratum, factor, level from nested join run using (node)
where (select count(distinct level) from nested) > (select count(distinct level) from place where factor = 'chassis')
union all
select n, stratum, factor, level from (
  unpivot (
    select n, stratum, family::varchar as family, model::varchar as model, stepping::varchar as stepping, microcode, board,
      bios_vendor, bios_version, bios_date, dimm_part, kernel, cmdline_hash, smt, governor, thp, hypervisor, tool_version
    from run)
  on columns(* exclude (n, stratum)) into name factor value level)
union all
select n, stratum, kind || ' ' || id, state from state where kind in ('setting', 'flaw') and id <> 'thp' and id <> 'smt';
create table level as
select row_number() over (order by stratum, factor, level) - 1 as l, *
from (
  select stratum, factor, level, count(distinct n) as nodes, count(*) over (partition by stratum, factor) as levels
  from factor group by stratum, factor, level)
where nodes >= 4 and levels > 1;
create table minority as
select row_number() over (order by nodes, stratum, kind, id, state) - 1 as i, *
from (
  select stratum, kind, id, state, count(*) as nodes, sum(count(*)) over same as of_nodes, median(rate_ppb) as rate_ppb,
    first_value(state) over (same order by count(*) desc, state) as usual
  from state group by stratum, kind, id, state
  window same as (partition by stratum, kind, id))
where state <> usual;

-- What sidestep reads: a line with the name of each table, then its rows.
copy (select ':strata') to '/dev/stdout' (format csv, header false);
copy (
  select stratum, coalesce(any_value(cpu_model), 'unknown CPU') as cpu_model, any_value(preset) as preset,
    any_value(kernel_set_version) as kernel_set_version
  from run group by stratum order by stratum) to '/dev/stdout' (format json);
copy (select ':nodes') to '/dev/stdout' (format csv, header false);
copy (
  select n, stratum, node, run_id, started_utc, runs, is_two_machines, is_busy, hypervisor is not null as is_guest, others_share, steal_share,
    partial is not null as is_partial,
    (select any_value(level) from place where place.node = run.node and factor = 'rack') as rack,
    (select any_value(level) from place where place.node = run.node and factor = 'chassis') as chassis,
    (select any_value(level) from place where place.node = run.node and factor in ('slot', 'position')) as slot
  from run order by n) to '/dev/stdout' (format json);
copy (select ':missing') to '/dev/stdout' (format csv, header false);
copy (select node from inventory anti join run using (node) order by node) to '/dev/stdout' (format json);
copy (select ':metrics') to '/dev/stdout' (format csv, header false);
copy (select m, stratum, key, family, socket from metric order by m) to '/dev/stdout' (format json);
copy (select ':levels') to '/dev/stdout' (format csv, header false);
copy (select l, stratum, factor, level from level order by l) to '/dev/stdout' (format json);
copy (select ':members') to '/dev/stdout' (format csv, header false);
copy (select distinct l, n from factor join level using (stratum, factor, level)) to '/dev/stdout' (format csv, header false);
copy (select ':minorities') to '/dev/stdout' (format csv, header false);
copy (select i, stratum, kind, id, state, usual, nodes, of_nodes, rate_ppb from minority order by i)
  to '/dev/stdout' (format json);
copy (select ':minority members') to '/dev/stdout' (format csv, header false);
copy (select i, n from state join minority using (stratum, kind, id, state)) to '/dev/stdout' (format csv, header false);
copy (select ':repeats') to '/dev/stdout' (format csv, header false);
copy (
  select experiment, arm, node, run_id, key, y from value join source using (run_id)
  where experiment is not null order by all) to '/dev/stdout' (format json);
-- Millionths, so that no digit is lost and none is idle.
copy (select ':deviations') to '/dev/stdout' (format csv, header false);
copy (select m, n, round((y - centre) * 1e6)::bigint from value join metric using (stratum, key))
  to '/dev/stdout' (format csv, header false);
copy (select ':end') to '/dev/stdout' (format csv, header false);
