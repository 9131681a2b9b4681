-- Where nodes are is unknown.
create table inventory as select distinct node from node_rows;
create table place (node varchar, factor varchar, level varchar);
