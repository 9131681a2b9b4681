-- Rows of a fleet from NDJSON to Parquet, every column with its type.
set preserve_insertion_order = false;
set memory_limit = '1GB';
copy (select * from read_json({metrics}, format = 'newline_delimited', columns = {
  node: 'VARCHAR', run_id: 'VARCHAR', started_utc: 'VARCHAR', boot_id: 'VARCHAR', tool_version: 'VARCHAR',
  kernel_set_version: 'BIGINT', preset: 'VARCHAR', experiment: 'VARCHAR', arm: 'VARCHAR', metric: 'VARCHAR',
  family: 'VARCHAR', cpu: 'VARCHAR', socket: 'BIGINT', mem_node: 'BIGINT', unit: 'VARCHAR',
  higher_is_better: 'BOOLEAN', n: 'BIGINT', estimate: 'DOUBLE', ci_lo: 'DOUBLE', ci_hi: 'DOUBLE', quality: 'VARCHAR',
  others_share: 'DOUBLE', steal_share: 'DOUBLE', partial: 'BOOLEAN'}))
to {metrics_parquet} (format parquet, compression zstd);
copy (select * from read_json({nodes}, format = 'newline_delimited', columns = {
  node: 'VARCHAR', run_id: 'VARCHAR', cpu_model: 'VARCHAR', family: 'BIGINT', model: 'BIGINT', stepping: 'BIGINT',
  microcode: 'VARCHAR', board: 'VARCHAR', bios_vendor: 'VARCHAR', bios_version: 'VARCHAR', bios_date: 'VARCHAR',
  dimm_part: 'VARCHAR', kernel: 'VARCHAR', cmdline_hash: 'VARCHAR', smt: 'VARCHAR', governor: 'VARCHAR', thp: 'VARCHAR',
  hypervisor: 'VARCHAR', coverage: 'DOUBLE', started_utc: 'VARCHAR', boot_id: 'VARCHAR', tool_version: 'VARCHAR',
  kernel_set_version: 'BIGINT', preset: 'VARCHAR', experiment: 'VARCHAR', arm: 'VARCHAR', others_share: 'DOUBLE',
  steal_share: 'DOUBLE', partial: 'VARCHAR', doubts: 'BIGINT', metrics: 'BIGINT', engine: 'VARCHAR', job: 'VARCHAR',
  step: 'VARCHAR', serials_hash: 'VARCHAR', file: 'VARCHAR'}))
to {nodes_parquet} (format parquet, compression zstd);
copy (select * from read_json({states}, format = 'newline_delimited', columns = {
  node: 'VARCHAR', run_id: 'VARCHAR', kind: 'VARCHAR', id: 'VARCHAR', affected: 'VARCHAR', workaround: 'VARCHAR',
  protected: 'VARCHAR', paid: 'VARCHAR', value: 'VARCHAR', rate_ppb: 'DOUBLE', rate_lo_ppb: 'DOUBLE',
  rate_hi_ppb: 'DOUBLE', offset_ns: 'DOUBLE'}))
to {states_parquet} (format parquet, compression zstd);
