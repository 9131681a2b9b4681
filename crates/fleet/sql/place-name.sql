-- Where nodes are, from their names: each group of the pattern is a factor.
create table inventory as select distinct node from node_rows;
create table place as
select node, factor, level
from (unpivot (select node, {groups} from inventory) on columns(* exclude (node)) into name factor value level)
where level <> '';
