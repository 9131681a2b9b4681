-- Runs of a node that follow each other, of like measurements; and what of the node changed between them.
create table run as
select row_number() over (order by node, started_utc, run_id) - 1 as n, try_cast(started_utc as timestamptz) as moment,
  dense_rank() over (order by coalesce(cpu_model, ''), preset, kernel_set_version) - 1 as stratum, *
from node_rows where node is not null and experiment not like 'confirm-%';
create table fact as
select n, factor, level from (
  unpivot (
    select n, microcode, board, bios_vendor, bios_version, bios_date, dimm_part, kernel, cmdline_hash, smt, governor, thp,
      hypervisor, tool_version, serials_hash
    from run)
  on columns(* exclude (n)) into name factor value level)
union all
select n, kind || ' ' || id, value from state_rows join run using (run_id)
where kind = 'setting' and value is not null and id not in ('thp', 'smt', 'governor');
create table pair as
select row_number() over (order by before) - 1 as p, * from (
  select n as before, lead(n) over next_run as after, node, stratum, moment as began, lead(moment) over next_run as ended,
    boot_id is distinct from lead(boot_id) over next_run as is_boot
  from run window next_run as (partition by node, stratum order by started_utc, run_id))
where after is not null;
create table changed as
select p, a.factor, a.level as old, b.level as new
from pair join fact a on a.n = before join fact b on b.n = after and a.factor = b.factor where a.level <> b.level;
create table event as
select pair.*, bool_or(factor = {factor} and old = {old} and new = {new}) as is_it,
  count(*) filter (factor <> {factor}) > 0 as is_mixed
from pair join changed using (p) group by all having is_it;

-- Nodes that changed nothing at the same time, of the same rack first; 15 are enough for a median.
create table control as select * from pair anti join changed using (p);
create table rack as select node, any_value(level) as rack from place where factor = 'rack' group by node;
create table match as
select event.p as p, control.p as other
from event join control using (stratum)
left join rack er on er.node = event.node left join rack cr on cr.node = control.node
where event.is_boot and not is_mixed
  and abs(epoch(control.began) - epoch(event.began)) <= greatest(86400, (epoch(event.ended) - epoch(event.began)) / 2)
  and abs(epoch(control.ended) - epoch(event.ended)) <= greatest(86400, (epoch(event.ended) - epoch(event.began)) / 2)
qualify row_number() over (
    partition by event.p order by coalesce(er.rack = cr.rack, false) desc, md5(event.node || '/' || control.node), control.p) <= 15
  and count(*) over (partition by event.p) >= 3;
create table used as
select distinct p from (select p from match union all select other from match);
create table value as
select run_id, n, metric_rows.family, metric || coalesce(' cpu ' || cpu, '') || coalesce(' node ' || mem_node, '') as key,
  if(higher_is_better, -1, 1) * ln(estimate) as y
from metric_rows join run using (run_id)
where estimate > 0 and isfinite(estimate) and quality <> 'unstable'
  and n in (select before from pair join used using (p) union all select after from pair join used using (p));
create table delta as
select p, a.key, mode(a.family) as family, any_value(b.y - a.y) as d
from pair join used using (p) join value a on a.n = before join value b on b.n = after and b.key = a.key
group by p, a.key;
create table metric as
select row_number() over (order by key) - 1 as m, key, mode(family) as family
from delta where p in (select p from match) group by key;

copy (select ':counts') to '/dev/stdout' (format csv, header false);
copy (
  select (select count(distinct node) from event where is_boot and not is_mixed) as changed,
    (select count(distinct node) from event where is_mixed) as mixed,
    (select count(distinct node) from event where not is_boot) as without_boot,
    (select count(distinct node) from event where is_boot and not is_mixed and p not in (select p from match)) as unmatched,
    (select count(distinct node) from control join used using (p)) as unchanged,
    (select count(*) from match) as matches,
    (select count(*)
     from match join pair e on e.p = match.p join pair c on c.p = other join run er on er.n = e.after join run cr on cr.n = c.after
     where er.experiment = cr.experiment and er.experiment <> 'check-up' and er.arm = 'B' and cr.arm = 'A') as randomised,
    (select list(distinct level order by level) from fact where factor = {factor}) as levels)
  to '/dev/stdout' (format json);
copy (select ':coincidences') to '/dev/stdout' (format csv, header false);
copy (
  select factor, count(distinct node) as nodes, (select count(distinct node) from event) as of_nodes
  from changed join event using (p) where factor <> {factor} group by factor order by nodes desc, factor)
  to '/dev/stdout' (format json);
copy (select ':events') to '/dev/stdout' (format csv, header false);
copy (
  select p, node, rack from event left join rack using (node) where p in (select p from match) order by p)
  to '/dev/stdout' (format json);
copy (select ':metrics') to '/dev/stdout' (format csv, header false);
copy (select key, family from metric order by m) to '/dev/stdout' (format json);
-- The change of each node beyond the median of its controls', in millionths.
copy (select ':differences') to '/dev/stdout' (format csv, header false);
copy (
  select p, m, round(1e6 * (any_value(e.d) - median(c.d)))::bigint
  from match join delta e using (p) join delta c on c.p = other and c.key = e.key join metric on metric.key = e.key
  group by p, m order by p, m)
  to '/dev/stdout' (format csv, header false);
copy (select ':end') to '/dev/stdout' (format csv, header false);
