; made from sources d3da7a502509f2e2cf4ba2a85be4e2d533af9ffca7c98d34def5d01da7372972 by make native
%struct.Launch = type { %struct.Shape, i64 }
%struct.Shape = type { i32, i32, i32, i32, i32, i32, i32 }
%struct.Caller = type { ptr, i64, ptr, ptr, i32, i32, i32, i32 }
%struct.Step = type { ptr, ptr, ptr }
%struct.Mask = type { [16 x i64] }
%struct.Runner = type { [512 x i8], i64, i64, ptr, ptr, ptr, i64, i32, i32, i64, i64, i64 }
%struct.Action = type { i64, [16 x i64], i32, i32, i64 }
%struct.Slot = type { i32, i32, i32, i32, i32, i32, i32, i32, ptr, ptr, ptr, i64, [28 x i8], [36 x i8], [64 x %struct.Part] }
%struct.Part = type { i64, i64, [6 x i64] }

@IS_ARM = external constant i64

define nonnull ptr @part(i32 %0) #0 {
  switch i32 %0, label %2 [
    i32 0, label %7
    i32 1, label %5
    i32 2, label %6
  ]

2:
  %3 = icmp eq i32 %0, 3
  %4 = select i1 %3, ptr @replay, ptr @transfer
  br label %7

5:
  br label %7

6:
  br label %7

7:
  %8 = phi ptr [ @launch_grid, %1 ], [ %4, %2 ], [ @on_signal, %5 ], [ @settle_here, %6 ]
  ret ptr %8
}

define internal i32 @launch_grid(ptr %0, ptr nocapture readonly %1, ptr %2, i32 %3, ptr %4) #1 {
  %6 = alloca %struct.Launch, align 8
  %7 = alloca %struct.Caller, align 8
  call void @llvm.memcpy.p0.p0.i64(ptr nonnull align 8 dereferenceable(28) %6, ptr nonnull align 4 dereferenceable(28) %1, i64 28, i1 false)
  %8 = getelementptr inbounds nuw i8, ptr %6, i64 28
  store i32 0, ptr %8, align 4
  %9 = getelementptr inbounds nuw i8, ptr %6, i64 32
  %10 = getelementptr inbounds nuw i8, ptr %0, i64 64
  %11 = load i64, ptr %10, align 8
  store i64 %11, ptr %9, align 8
  %12 = getelementptr inbounds nuw i8, ptr %0, i64 8
  %13 = load ptr, ptr %12, align 8
  %14 = icmp eq i32 %3, 0
  br i1 %14, label %15, label %19

15:
  %16 = getelementptr inbounds nuw i8, ptr %13, i64 88
  %17 = load ptr, ptr %16, align 8
  %18 = tail call ptr %17() #10
  br label %19

19:
  %20 = phi ptr [ %18, %15 ], [ null, %5 ]
  %21 = tail call fastcc i64 @now(ptr %13) #11
  %22 = getelementptr inbounds nuw i8, ptr %13, i64 32
  %23 = load ptr, ptr %22, align 8
  %24 = tail call i64 %23() #10
  %25 = getelementptr inbounds nuw i8, ptr %13, i64 120
  %26 = load i64, ptr %25, align 8
  %27 = icmp eq i64 %24, %26
  br i1 %27, label %28, label %32

28:
  %29 = getelementptr inbounds nuw i8, ptr %13, i64 112
  %30 = load ptr, ptr %29, align 8
  %31 = call fastcc ptr @watch(ptr %13, ptr %30, ptr nonnull %7, ptr %0) #11
  br label %32

32:
  %33 = phi ptr [ %31, %28 ], [ null, %19 ]
  store ptr %20, ptr %7, align 8
  %34 = getelementptr inbounds nuw i8, ptr %7, i64 8
  store i64 %21, ptr %34, align 8
  %35 = getelementptr inbounds nuw i8, ptr %7, i64 16
  store ptr %33, ptr %35, align 8
  %36 = getelementptr inbounds nuw i8, ptr %7, i64 24
  store ptr %13, ptr %36, align 8
  %37 = getelementptr inbounds nuw i8, ptr %7, i64 32
  store i32 %3, ptr %37, align 8
  %38 = zext i1 %27 to i32
  %39 = getelementptr inbounds nuw i8, ptr %7, i64 36
  store i32 %38, ptr %39, align 4
  %40 = getelementptr inbounds nuw i8, ptr %7, i64 40
  store i32 0, ptr %40, align 8
  %41 = load i32, ptr %6, align 8
  %42 = zext i32 %41 to i64
  %43 = getelementptr inbounds nuw i8, ptr %6, i64 4
  %44 = load i32, ptr %43, align 4
  %45 = zext i32 %44 to i64
  %46 = mul nuw i64 %45, %42
  %47 = getelementptr inbounds nuw i8, ptr %6, i64 8
  %48 = load i32, ptr %47, align 8
  %49 = zext i32 %48 to i64
  %50 = mul i64 %46, %49
  %51 = icmp sgt i64 %50, 4095
  br i1 %51, label %52, label %60

52:
  %53 = getelementptr inbounds nuw i8, ptr %0, i64 60
  %54 = load i32, ptr %53, align 4
  %55 = icmp eq i32 %54, 0
  br i1 %55, label %56, label %60

56:
  call fastcc void @narrow(ptr %0, ptr %6, ptr %2, i64 %50, ptr %4) #11
  %57 = load i64, ptr %4, align 4
  %58 = getelementptr inbounds nuw i8, ptr %4, i64 8
  %59 = load i64, ptr %58, align 4
  br label %60

60:
  %61 = phi i64 [ 0, %52 ], [ %57, %56 ], [ 0, %32 ]
  %62 = phi i64 [ %50, %52 ], [ %59, %56 ], [ %50, %32 ]
  %63 = icmp slt i64 %61, %62
  br i1 %63, label %64, label %142

64:
  %65 = load ptr, ptr %36, align 8
  %66 = getelementptr inbounds nuw i8, ptr %0, i64 56
  %67 = load i32, ptr %66, align 8
  %68 = icmp sgt i32 %67, 1
  %69 = zext i1 %68 to i8
  %70 = getelementptr inbounds nuw i8, ptr %0, i64 32
  %71 = getelementptr inbounds nuw i8, ptr %65, i64 112
  %72 = getelementptr inbounds nuw i8, ptr %0, i64 40
  %73 = getelementptr inbounds nuw i8, ptr %0, i64 48
  %74 = getelementptr inbounds nuw i8, ptr %0, i64 72
  %75 = getelementptr inbounds nuw i8, ptr %0, i64 60
  %76 = getelementptr inbounds nuw i8, ptr %0, i64 40
  br label %77

77:
  %78 = phi i64 [ %135, %140 ], [ %21, %64 ]
  %79 = phi i8 [ %84, %140 ], [ %69, %64 ]
  %80 = phi i64 [ %133, %140 ], [ %61, %64 ]
  %81 = sub i64 %62, %80
  %82 = icmp sgt i64 %81, 1
  br label %83

83:
  %84 = phi i8 [ 0, %114 ], [ %79, %77 ]
  %85 = load atomic i64, ptr %70 monotonic, align 8
  %86 = trunc nuw i8 %84 to i1
  %87 = and i1 %82, %86
  %88 = icmp ne i64 %85, 0
  %89 = select i1 %87, i1 %88, i1 false
  br i1 %89, label %90, label %117

90:
  %91 = load ptr, ptr %71, align 8
  %92 = getelementptr inbounds nuw i8, ptr %91, i64 8
  %93 = load atomic i32, ptr %92 monotonic, align 8
  %94 = getelementptr inbounds nuw i8, ptr %91, i64 4
  %95 = load atomic i32, ptr %94 monotonic, align 4
  %96 = icmp sgt i32 %93, %95
  %97 = select i1 %96, i64 3000000, i64 25000000
  %98 = udiv i64 %97, %85
  %99 = icmp samesign ugt i64 %81, %98
  br i1 %99, label %114, label %100

100:
  %101 = udiv i64 3000000, %85
  %102 = icmp samesign ugt i64 %81, %101
  br i1 %102, label %103, label %117

103:
  %104 = load atomic i64, ptr %72 monotonic, align 8
  %105 = sub i64 %21, %104
  %106 = icmp ult i64 %105, 20000
  %107 = load atomic i64, ptr %73 monotonic, align 8
  %108 = add i64 %107, 1
  %109 = icmp ult i64 %108, 16
  %110 = select i1 %106, i1 %109, i1 false
  %111 = select i1 %110, i64 %108, i64 0
  store atomic i64 %111, ptr %73 monotonic, align 8
  %112 = icmp ugt i64 %108, 15
  %113 = select i1 %106, i1 %112, i1 false
  br i1 %113, label %114, label %117

114:
  %115 = call fastcc i32 @share(ptr %65, ptr nonnull %7, ptr %0, ptr nonnull %6, ptr %2, i64 %80, i64 %62, ptr %4) #11
  %116 = icmp eq i32 %115, -1002
  br i1 %116, label %83, label %142

117:
  %118 = icmp eq i64 %85, 0
  br i1 %118, label %122, label %119

119:
  %120 = load i64, ptr %74, align 8
  %121 = udiv i64 %120, %85
  br label %122

122:
  %123 = phi i64 [ %121, %119 ], [ 1, %117 ]
  %124 = call i64 @llvm.umax.i64(i64 %123, i64 1)
  %125 = icmp slt i64 %124, %81
  br i1 %125, label %126, label %129

126:
  %127 = load i32, ptr %75, align 4
  %128 = icmp eq i32 %127, 0
  br i1 %128, label %130, label %129

129:
  br label %130

130:
  %131 = phi i64 [ %81, %129 ], [ %124, %126 ]
  %132 = load ptr, ptr %35, align 8
  %133 = add i64 %131, %80
  %134 = call fastcc i32 @run(ptr %132, ptr %0, ptr nonnull %6, ptr %2, i64 %80, i64 %133, ptr %4) #11
  %135 = call fastcc i64 @now(ptr %65) #11
  %136 = sub i64 %135, %78
  call fastcc void @learn(ptr %0, i64 %136, i64 %131) #11
  store atomic i64 %135, ptr %76 monotonic, align 8
  %137 = icmp eq i32 %134, 0
  %138 = icmp slt i64 %133, %62
  %139 = and i1 %138, %137
  br i1 %139, label %140, label %142

140:
  %141 = call fastcc zeroext i1 @look(ptr nonnull %7, i64 %135) #11
  br i1 %141, label %142, label %77

142:
  %143 = phi i32 [ 0, %60 ], [ %115, %114 ], [ %134, %130 ], [ %134, %140 ]
  %144 = load i32, ptr %39, align 4
  %145 = icmp eq i32 %144, 0
  br i1 %145, label %151, label %146

146:
  %147 = load ptr, ptr %36, align 8
  %148 = getelementptr inbounds nuw i8, ptr %147, i64 112
  %149 = load ptr, ptr %148, align 8
  %150 = load ptr, ptr %35, align 8
  call fastcc void @unwatch(ptr %149, ptr %150) #11
  br label %151

151:
  %152 = load i32, ptr %37, align 8
  %153 = icmp eq i32 %152, 0
  br i1 %153, label %154, label %159

154:
  %155 = load ptr, ptr %36, align 8
  %156 = getelementptr inbounds nuw i8, ptr %155, i64 96
  %157 = load ptr, ptr %156, align 8
  %158 = load ptr, ptr %7, align 8
  call void %157(ptr %158) #10
  br label %159

159:
  %160 = load i32, ptr %40, align 8
  %161 = icmp eq i32 %160, 0
  %162 = select i1 %161, i32 %143, i32 -1000
  ret i32 %162
}

define internal void @on_signal(i32 %0, ptr nocapture readonly %1, ptr nocapture readonly %2) #1 {
  %4 = getelementptr inbounds nuw i8, ptr %1, i64 8
  %5 = load i32, ptr %4, align 4
  %6 = icmp eq i32 %5, -1
  br i1 %6, label %7, label %56

7:
  %8 = getelementptr inbounds nuw i8, ptr %1, i64 24
  %9 = load ptr, ptr %8, align 8
  %10 = icmp eq ptr %9, null
  br i1 %10, label %56, label %11

11:
  %12 = getelementptr inbounds nuw i8, ptr %9, i64 584
  store atomic i64 0, ptr %12 seq_cst, align 8
  %13 = getelementptr inbounds nuw i8, ptr %9, i64 560
  %14 = load volatile i32, ptr %13, align 8
  %15 = icmp eq i32 %14, 1
  br i1 %15, label %16, label %56

16:
  %17 = load i64, ptr @IS_ARM, align 8
  %18 = icmp eq i64 %17, 0
  %19 = select i1 %18, i64 168, i64 440
  %20 = getelementptr inbounds nuw i8, ptr %2, i64 %19
  %21 = load i64, ptr %20, align 8
  %22 = getelementptr inbounds nuw i8, ptr %9, i64 512
  %23 = load i64, ptr %22, align 8
  %24 = icmp ult i64 %21, %23
  br i1 %24, label %56, label %25

25:
  %26 = getelementptr inbounds nuw i8, ptr %9, i64 520
  %27 = load i64, ptr %26, align 8
  %28 = icmp ult i64 %21, %27
  br i1 %28, label %29, label %56

29:
  %30 = getelementptr inbounds nuw i8, ptr %9, i64 544
  %31 = load ptr, ptr %30, align 8
  %32 = getelementptr inbounds nuw i8, ptr %9, i64 564
  %33 = load i32, ptr %32, align 4
  %34 = icmp eq i32 %33, 0
  br i1 %34, label %37, label %35

35:
  store volatile i32 2, ptr %13, align 8
  br label %36

36:
  tail call fastcc void @sleep_while(ptr %31, ptr nonnull %13, i32 2, i64 0) #11
  br label %36

37:
  %38 = getelementptr inbounds nuw i8, ptr %9, i64 528
  %39 = load ptr, ptr %38, align 8
  %40 = icmp eq ptr %39, null
  br i1 %40, label %41, label %49

41:
  %42 = getelementptr inbounds nuw i8, ptr %9, i64 536
  %43 = load ptr, ptr %42, align 8
  %44 = icmp eq ptr %43, null
  br i1 %44, label %56, label %45

45:
  %46 = getelementptr inbounds nuw i8, ptr %43, i64 24
  %47 = load atomic i32, ptr %46 seq_cst, align 8
  %48 = icmp eq i32 %47, 0
  br i1 %48, label %56, label %53

49:
  store volatile i32 0, ptr %13, align 8
  %50 = tail call fastcc i64 @now(ptr %31) #11
  %51 = tail call fastcc zeroext i1 @look(ptr nonnull %39, i64 %50) #11
  br i1 %51, label %53, label %52

52:
  store volatile i32 1, ptr %13, align 8
  br label %56

53:
  store volatile i32 0, ptr %13, align 8
  %54 = getelementptr inbounds nuw i8, ptr %31, i64 80
  %55 = load ptr, ptr %54, align 8
  tail call void %55(ptr nonnull %9, i32 1) #10
  unreachable

56:
  ret void
}

define internal i32 @settle_here(ptr nocapture %0) #1 {
  %2 = alloca [16 x i64], align 16
  %3 = getelementptr inbounds nuw i8, ptr %0, i64 112
  %4 = load ptr, ptr %3, align 8
  store volatile i64 0, ptr %2, align 16
  %5 = getelementptr inbounds nuw i8, ptr %0, i64 48
  %6 = load ptr, ptr %5, align 8
  %7 = call i32 %6(i32 0, ptr null, ptr nonnull %2) #10
  %8 = load volatile i64, ptr %2, align 16
  %9 = getelementptr inbounds nuw i8, ptr %4, i64 64
  store i64 %8, ptr %9, align 8
  %10 = call fastcc i32 @settle(ptr %0, i64 %8) #11
  %11 = getelementptr inbounds nuw i8, ptr %4, i64 28
  %12 = icmp ne i32 %10, 0
  %13 = zext i1 %12 to i32
  store atomic i32 %13, ptr %11 seq_cst, align 4
  ret i32 %10
}

define internal i32 @replay(ptr nocapture readonly %0, i64 %1, ptr %2) #1 {
  %4 = alloca %struct.Launch, align 8
  %5 = alloca %struct.Caller, align 8
  %6 = load ptr, ptr %0, align 8
  %7 = getelementptr inbounds nuw i8, ptr %6, i64 8
  %8 = load ptr, ptr %7, align 8
  %9 = getelementptr inbounds nuw i8, ptr %8, i64 88
  %10 = getelementptr inbounds nuw i8, ptr %8, i64 32
  %11 = getelementptr inbounds nuw i8, ptr %8, i64 120
  %12 = getelementptr inbounds nuw i8, ptr %8, i64 112
  %13 = getelementptr inbounds nuw i8, ptr %5, i64 8
  %14 = getelementptr inbounds nuw i8, ptr %5, i64 16
  %15 = getelementptr inbounds nuw i8, ptr %5, i64 24
  %16 = getelementptr inbounds nuw i8, ptr %5, i64 32
  %17 = getelementptr inbounds nuw i8, ptr %5, i64 36
  %18 = getelementptr inbounds nuw i8, ptr %5, i64 40
  %19 = getelementptr inbounds nuw i8, ptr %4, i64 28
  %20 = getelementptr inbounds nuw i8, ptr %4, i64 32
  %21 = getelementptr inbounds nuw i8, ptr %4, i64 4
  %22 = getelementptr inbounds nuw i8, ptr %4, i64 8
  %23 = getelementptr inbounds nuw i8, ptr %4, i64 4
  %24 = getelementptr inbounds nuw i8, ptr %4, i64 8
  br label %25

25:
  %26 = phi i64 [ 0, %3 ], [ %130, %129 ]
  %27 = load ptr, ptr %0, align 8
  %28 = load ptr, ptr %9, align 8
  %29 = call ptr %28() #10
  %30 = call fastcc i64 @now(ptr %8) #11
  %31 = load ptr, ptr %10, align 8
  %32 = call i64 %31() #10
  %33 = load i64, ptr %11, align 8
  %34 = icmp eq i64 %32, %33
  br i1 %34, label %35, label %38

35:
  %36 = load ptr, ptr %12, align 8
  %37 = call fastcc ptr @watch(ptr %8, ptr %36, ptr nonnull %5, ptr %27) #11
  br label %38

38:
  %39 = phi ptr [ %37, %35 ], [ null, %25 ]
  store ptr %29, ptr %5, align 8
  store i64 %30, ptr %13, align 8
  store ptr %39, ptr %14, align 8
  store ptr %8, ptr %15, align 8
  store i32 0, ptr %16, align 8
  %40 = zext i1 %34 to i32
  store i32 %40, ptr %17, align 4
  store i32 0, ptr %18, align 8
  call void @llvm.lifetime.start.p0(i64 40, ptr nonnull %4)
  %41 = lshr i64 %30, 5
  br label %42

42:
  %43 = phi i64 [ %26, %38 ], [ %97, %95 ]
  %44 = phi i64 [ %30, %38 ], [ %93, %95 ]
  %45 = getelementptr inbounds %struct.Step, ptr %0, i64 %43
  %46 = load ptr, ptr %45, align 8
  %47 = getelementptr inbounds nuw i8, ptr %45, i64 8
  %48 = load ptr, ptr %47, align 8
  call void @llvm.memcpy.p0.p0.i64(ptr nonnull align 8 dereferenceable(28) %4, ptr nonnull align 4 dereferenceable(28) %48, i64 28, i1 false)
  store i32 0, ptr %19, align 4
  %49 = getelementptr inbounds nuw i8, ptr %46, i64 64
  %50 = load i64, ptr %49, align 8
  store i64 %50, ptr %20, align 8
  %51 = getelementptr inbounds nuw i8, ptr %46, i64 32
  %52 = load atomic i64, ptr %51 monotonic, align 8
  %53 = icmp eq i64 %52, 0
  br i1 %53, label %65, label %54

54:
  %55 = load i32, ptr %4, align 8
  %56 = zext i32 %55 to i64
  %57 = load i32, ptr %21, align 4
  %58 = zext i32 %57 to i64
  %59 = mul nuw i64 %58, %56
  %60 = load i32, ptr %22, align 8
  %61 = zext i32 %60 to i64
  %62 = mul i64 %59, %61
  %63 = udiv i64 8000000, %52
  %64 = icmp ugt i64 %62, %63
  br label %65

65:
  %66 = phi i1 [ true, %42 ], [ %64, %54 ]
  br i1 %66, label %100, label %67

67:
  %68 = add i64 %43, %41
  %69 = and i64 %68, 7
  %70 = icmp eq i64 %69, 0
  br i1 %70, label %71, label %74

71:
  %72 = load ptr, ptr %15, align 8
  %73 = call fastcc i64 @now(ptr %72) #11
  br label %74

74:
  %75 = phi i64 [ %73, %71 ], [ 0, %67 ]
  %76 = load i32, ptr %4, align 8
  %77 = zext i32 %76 to i64
  %78 = load i32, ptr %23, align 4
  %79 = zext i32 %78 to i64
  %80 = mul nuw i64 %79, %77
  %81 = load i32, ptr %24, align 8
  %82 = zext i32 %81 to i64
  %83 = mul i64 %80, %82
  %84 = load ptr, ptr %14, align 8
  %85 = getelementptr inbounds nuw i8, ptr %45, i64 16
  %86 = load ptr, ptr %85, align 8
  %87 = call fastcc i32 @run(ptr %84, ptr %46, ptr nonnull %4, ptr %86, i64 0, i64 %83, ptr %2) #11
  br i1 %70, label %88, label %92

88:
  %89 = load ptr, ptr %15, align 8
  %90 = call fastcc i64 @now(ptr %89) #11
  %91 = sub i64 %90, %75
  call fastcc void @learn(ptr %46, i64 %91, i64 %83) #11
  br label %92

92:
  %93 = phi i64 [ %90, %88 ], [ %44, %74 ]
  %94 = icmp eq i32 %87, 0
  br i1 %94, label %95, label %100

95:
  %96 = call fastcc zeroext i1 @look(ptr nonnull %5, i64 %93) #11
  %97 = add i64 %43, 1
  %98 = icmp sge i64 %97, %1
  %99 = or i1 %98, %96
  br i1 %99, label %100, label %42

100:
  %101 = phi i32 [ 0, %65 ], [ %87, %92 ], [ %87, %95 ]
  %102 = getelementptr inbounds nuw i8, ptr %45, i64 8
  call void @llvm.lifetime.end.p0(i64 40, ptr nonnull %4)
  %103 = load i32, ptr %17, align 4
  %104 = icmp eq i32 %103, 0
  br i1 %104, label %110, label %105

105:
  %106 = load ptr, ptr %15, align 8
  %107 = getelementptr inbounds nuw i8, ptr %106, i64 112
  %108 = load ptr, ptr %107, align 8
  %109 = load ptr, ptr %14, align 8
  call fastcc void @unwatch(ptr %108, ptr %109) #11
  br label %110

110:
  %111 = load i32, ptr %16, align 8
  %112 = icmp eq i32 %111, 0
  br i1 %112, label %113, label %118

113:
  %114 = load ptr, ptr %15, align 8
  %115 = getelementptr inbounds nuw i8, ptr %114, i64 96
  %116 = load ptr, ptr %115, align 8
  %117 = load ptr, ptr %5, align 8
  call void %116(ptr %117) #10
  br label %118

118:
  %119 = load i32, ptr %18, align 8
  %120 = icmp eq i32 %119, 0
  br i1 %120, label %121, label %135

121:
  br i1 %66, label %122, label %132

122:
  %123 = load ptr, ptr %45, align 8
  %124 = load ptr, ptr %102, align 8
  %125 = getelementptr inbounds nuw i8, ptr %45, i64 16
  %126 = load ptr, ptr %125, align 8
  %127 = call i32 @launch_grid(ptr %123, ptr %124, ptr %126, i32 0, ptr %2) #11
  %128 = icmp eq i32 %127, 0
  br i1 %128, label %129, label %132

129:
  %130 = add i64 %43, 1
  %131 = icmp slt i64 %130, %1
  br i1 %131, label %25, label %132

132:
  %133 = phi i32 [ %127, %122 ], [ 0, %129 ], [ %101, %121 ]
  %134 = getelementptr inbounds nuw i8, ptr %2, i64 32
  store i64 %43, ptr %134, align 8
  br label %135

135:
  %136 = phi i32 [ %133, %132 ], [ -1000, %118 ]
  ret i32 %136
}

define internal i32 @transfer(ptr nocapture %0, ptr nocapture readnone %1, i64 %2, i64 %3, ptr nocapture readnone %4) #1 {
  %6 = load ptr, ptr %0, align 8
  %7 = getelementptr inbounds nuw i8, ptr %0, i64 8
  %8 = load ptr, ptr %7, align 8
  %9 = tail call i32 %6(ptr %8) #10
  %10 = getelementptr inbounds nuw i8, ptr %0, i64 72
  %11 = getelementptr inbounds nuw i8, ptr %0, i64 80
  %12 = getelementptr inbounds nuw i8, ptr %0, i64 96
  %13 = getelementptr inbounds nuw i8, ptr %0, i64 104
  %14 = getelementptr inbounds nuw i8, ptr %0, i64 48
  %15 = getelementptr inbounds nuw i8, ptr %0, i64 56
  %16 = getelementptr inbounds nuw i8, ptr %0, i64 88
  %17 = getelementptr inbounds nuw i8, ptr %0, i64 24
  %18 = load i64, ptr @IS_ARM, align 8
  %19 = icmp eq i64 %18, 0
  %20 = getelementptr inbounds nuw i8, ptr %0, i64 32
  %21 = getelementptr inbounds nuw i8, ptr %0, i64 32
  %22 = getelementptr inbounds nuw i8, ptr %0, i64 16
  %23 = getelementptr inbounds nuw i8, ptr %0, i64 64
  %24 = getelementptr inbounds nuw i8, ptr %0, i64 40
  br label %25

25:
  %26 = phi i64 [ %2, %5 ], [ %99, %96 ]
  %27 = phi i32 [ %9, %5 ], [ 0, %96 ]
  %28 = icmp eq i32 %27, 0
  br i1 %28, label %29, label %96

29:
  %30 = load i64, ptr %10, align 8
  %31 = load i64, ptr %11, align 8
  %32 = atomicrmw add ptr %12, i64 1 monotonic, align 8
  %33 = mul i64 %32, %31
  %34 = add i64 %33, %31
  br label %35

35:
  %36 = phi ptr [ %13, %29 ], [ %40, %35 ]
  %37 = getelementptr inbounds nuw i8, ptr %36, i64 8
  %38 = load i64, ptr %37, align 8
  %39 = icmp ult i64 %33, %38
  %40 = getelementptr inbounds nuw i8, ptr %36, i64 40
  br i1 %39, label %41, label %35

41:
  %42 = tail call i64 @llvm.umin.i64(i64 %34, i64 %30)
  %43 = getelementptr inbounds nuw i8, ptr %36, i64 8
  %44 = load ptr, ptr %14, align 8
  %45 = getelementptr inbounds nuw i8, ptr %44, i64 %33
  %46 = load ptr, ptr %15, align 8
  %47 = getelementptr inbounds nuw i8, ptr %46, i64 %33
  %48 = load i64, ptr %16, align 8
  %49 = icmp eq i64 %48, 0
  br i1 %49, label %56, label %50

50:
  %51 = getelementptr inbounds nuw i8, ptr %36, i64 32
  %52 = load atomic i32, ptr %51 seq_cst, align 8
  %53 = icmp eq i32 %52, 1
  br i1 %53, label %89, label %54

54:
  %55 = getelementptr inbounds nuw i8, ptr %36, i64 24
  br label %74

56:
  %57 = load ptr, ptr %21, align 8
  %58 = sub i64 %42, %33
  %59 = tail call ptr %57(ptr %47, ptr %45, i64 %58) #10
  %60 = getelementptr inbounds nuw i8, ptr %36, i64 16
  %61 = atomicrmw sub ptr %60, i64 %58 seq_cst, align 8
  %62 = icmp eq i64 %61, %58
  br i1 %62, label %63, label %96

63:
  %64 = load i64, ptr %36, align 8
  %65 = load ptr, ptr %22, align 8
  %66 = load i64, ptr %23, align 8
  %67 = add i64 %66, %64
  %68 = load ptr, ptr %15, align 8
  %69 = getelementptr inbounds i8, ptr %68, i64 %64
  %70 = load i64, ptr %43, align 8
  %71 = sub i64 %70, %64
  %72 = load ptr, ptr %24, align 8
  %73 = tail call i32 %65(i64 %67, ptr %69, i64 %71, ptr %72) #10
  br label %96

74:
  %75 = cmpxchg ptr %51, i32 0, i32 2 seq_cst seq_cst, align 8
  %76 = extractvalue { i32, i1 } %75, 1
  br i1 %76, label %77, label %83

77:
  %78 = load ptr, ptr %17, align 8
  %79 = load ptr, ptr %55, align 8
  %80 = tail call i32 %78(ptr %79) #10
  %81 = icmp ne i32 %80, 600
  %82 = zext i1 %81 to i32
  store atomic i32 %82, ptr %51 seq_cst, align 8
  switch i32 %80, label %89 [
    i32 600, label %83
    i32 0, label %83
  ]

83:
  br i1 %19, label %85, label %84

84:
  tail call void @arm_yield() #10
  br label %86

85:
  tail call void @llvm.x86.sse2.pause()
  br label %86

86:
  %87 = load atomic i32, ptr %51 seq_cst, align 8
  %88 = icmp eq i32 %87, 1
  br i1 %88, label %89, label %74

89:
  %90 = phi i32 [ 0, %50 ], [ %80, %77 ], [ 0, %86 ]
  %91 = icmp eq i32 %90, 0
  br i1 %91, label %92, label %96

92:
  %93 = load ptr, ptr %20, align 8
  %94 = sub i64 %42, %33
  %95 = tail call ptr %93(ptr %45, ptr %47, i64 %94) #10
  br label %96

96:
  %97 = phi i32 [ %27, %25 ], [ %90, %92 ], [ %90, %89 ], [ %73, %63 ], [ 0, %56 ]
  %98 = icmp eq i32 %97, 0
  %99 = add i64 %26, 1
  %100 = icmp slt i64 %99, %3
  %101 = select i1 %98, i1 %100, i1 false
  br i1 %101, label %25, label %102

102:
  ret i32 %97
}

declare void @llvm.memcpy.p0.p0.i64(ptr noalias nocapture writeonly, ptr noalias nocapture readonly, i64, i1 immarg) #2

define internal fastcc void @narrow(ptr nocapture readonly %0, ptr nonnull %1, ptr %2, i64 %3, ptr %4) unnamed_addr #1 {
  store i64 0, ptr %4, align 4
  %6 = getelementptr inbounds nuw i8, ptr %4, i64 8
  store i64 %3, ptr %6, align 4
  %7 = load ptr, ptr %0, align 8
  %8 = tail call i32 %7(ptr %2, ptr nonnull %1, i64 %3, i64 0, ptr nonnull %4) #10
  ret void
}

define internal fastcc i64 @now(ptr nocapture readonly %0) unnamed_addr #1 {
  %2 = alloca [2 x i64], align 16
  %3 = getelementptr inbounds nuw i8, ptr %0, i64 8
  %4 = load ptr, ptr %3, align 8
  %5 = call i32 %4(i32 1, ptr nonnull %2) #10
  %6 = load i64, ptr %2, align 16
  %7 = mul i64 %6, 1000000000
  %8 = getelementptr inbounds nuw i8, ptr %2, i64 8
  %9 = load i64, ptr %8, align 8
  %10 = add i64 %7, %9
  ret i64 %10
}

define internal fastcc ptr @watch(ptr %0, ptr %1, ptr nonnull %2, ptr nocapture readonly %3) unnamed_addr #1 {
  %5 = alloca i64, align 8
  %6 = alloca %struct.Mask, align 8
  %7 = alloca %struct.Mask, align 8
  %8 = getelementptr inbounds nuw i8, ptr %1, i64 28
  %9 = load atomic i32, ptr %8 monotonic, align 4
  %10 = icmp eq i32 %9, 0
  br i1 %10, label %15, label %11

11:
  %12 = getelementptr inbounds nuw i8, ptr %3, i64 32
  %13 = load atomic i64, ptr %12 monotonic, align 8
  %14 = icmp eq i64 %13, 0
  br i1 %14, label %15, label %17

15:
  %16 = tail call i32 @settle_here(ptr %0) #11
  br label %17

17:
  %18 = getelementptr inbounds nuw i8, ptr %1, i64 24
  %19 = load i32, ptr %18, align 8
  %20 = add i32 %19, 1
  store i32 %20, ptr %18, align 8
  %21 = getelementptr inbounds nuw i8, ptr %0, i64 136
  %22 = load i64, ptr %21, align 8
  %23 = icmp eq i64 %22, 0
  %24 = icmp sgt i32 %19, 255
  %25 = select i1 %23, i1 true, i1 %24
  br i1 %25, label %60, label %26

26:
  %27 = getelementptr inbounds nuw i8, ptr %1, i64 184824
  %28 = sext i32 %19 to i64
  %29 = getelementptr inbounds [256 x %struct.Runner], ptr %27, i64 0, i64 %28
  %30 = getelementptr inbounds nuw i8, ptr %29, i64 528
  store ptr %2, ptr %30, align 8
  %31 = getelementptr inbounds nuw i8, ptr %29, i64 544
  store ptr %0, ptr %31, align 8
  %32 = getelementptr inbounds nuw i8, ptr %1, i64 32
  %33 = load i64, ptr %32, align 8
  %34 = add i64 %33, 1
  store atomic i64 %34, ptr %32 monotonic, align 8
  %35 = getelementptr inbounds nuw i8, ptr %1, i64 40
  %36 = ptrtoint ptr %29 to i64
  store atomic i64 %36, ptr %35 seq_cst, align 8
  call void @llvm.lifetime.start.p0(i64 128, ptr nonnull %6)
  call void @llvm.lifetime.start.p0(i64 128, ptr nonnull %7)
  %37 = getelementptr inbounds nuw i8, ptr %1, i64 16
  %38 = load i32, ptr %37, align 8
  %39 = icmp eq i32 %38, 0
  br i1 %39, label %40, label %54

40:
  store i32 1, ptr %37, align 8
  call fastcc void @shut(ptr %0, ptr %6, ptr %7) #11
  call void @llvm.lifetime.start.p0(i64 8, ptr nonnull %5)
  %41 = getelementptr inbounds nuw i8, ptr %0, i64 16
  %42 = load ptr, ptr %41, align 8
  %43 = call i32 %42(ptr nonnull %5, ptr null, ptr nonnull @ticker, ptr %0) #10
  %44 = icmp eq i32 %43, 0
  br i1 %44, label %45, label %50

45:
  %46 = getelementptr inbounds nuw i8, ptr %0, i64 24
  %47 = load ptr, ptr %46, align 8
  %48 = load i64, ptr %5, align 8
  %49 = call i32 %47(i64 %48) #10
  br label %50

50:
  call void @llvm.lifetime.end.p0(i64 8, ptr nonnull %5)
  %51 = getelementptr inbounds nuw i8, ptr %0, i64 48
  %52 = load ptr, ptr %51, align 8
  %53 = call i32 %52(i32 2, ptr nonnull %7, ptr null) #10
  br label %59

54:
  %55 = getelementptr inbounds nuw i8, ptr %1, i64 20
  %56 = load atomic i32, ptr %55 seq_cst, align 4
  %57 = icmp eq i32 %56, 0
  br i1 %57, label %59, label %58

58:
  store atomic i32 0, ptr %55 seq_cst, align 4
  tail call fastcc void @wake(ptr %0, ptr nonnull %55, i32 1) #11
  br label %59

59:
  call void @llvm.lifetime.end.p0(i64 128, ptr nonnull %6)
  call void @llvm.lifetime.end.p0(i64 128, ptr nonnull %7)
  br label %60

60:
  %61 = phi ptr [ %29, %59 ], [ null, %17 ]
  ret ptr %61
}

define internal fastcc void @shut(ptr nocapture readonly %0, ptr nonnull %1, ptr nonnull %2) unnamed_addr #1 {
  %4 = getelementptr inbounds nuw i8, ptr %0, i64 136
  %5 = load i64, ptr %4, align 8
  br label %6

6:
  %7 = phi i64 [ 0, %3 ], [ %9, %6 ]
  %8 = getelementptr inbounds nuw [16 x i64], ptr %1, i64 0, i64 %7
  store volatile i64 -1, ptr %8, align 8
  %9 = add nuw nsw i64 %7, 1
  %10 = icmp eq i64 %9, 16
  br i1 %10, label %11, label %6

11:
  %12 = icmp eq i64 %5, 0
  %13 = add i64 %5, 63
  %14 = and i64 %13, 63
  %15 = shl nuw i64 1, %14
  %16 = xor i64 %15, -1
  %17 = select i1 %12, i64 -1, i64 %16
  store volatile i64 %17, ptr %1, align 8
  %18 = getelementptr inbounds nuw i8, ptr %0, i64 48
  %19 = load ptr, ptr %18, align 8
  %20 = tail call i32 %19(i32 2, ptr nonnull %1, ptr nonnull %2) #10
  ret void
}

define internal ptr @ticker(ptr %0) #3 {
  %2 = getelementptr inbounds nuw i8, ptr %0, i64 112
  %3 = load ptr, ptr %2, align 8
  %4 = getelementptr inbounds nuw i8, ptr %0, i64 40
  %5 = load ptr, ptr %4, align 8
  %6 = getelementptr inbounds nuw i8, ptr %0, i64 32
  %7 = load ptr, ptr %6, align 8
  %8 = tail call i64 %7() #10
  %9 = getelementptr inbounds nuw i8, ptr %0, i64 152
  %10 = tail call i32 %5(i64 %8, ptr nonnull %9) #10
  %11 = getelementptr inbounds nuw i8, ptr %3, i64 56
  %12 = getelementptr inbounds nuw i8, ptr %3, i64 28
  %13 = getelementptr inbounds nuw i8, ptr %3, i64 32
  %14 = getelementptr inbounds nuw i8, ptr %3, i64 40
  %15 = getelementptr inbounds nuw i8, ptr %0, i64 136
  %16 = getelementptr inbounds nuw i8, ptr %3, i64 64
  %17 = getelementptr inbounds nuw i8, ptr %0, i64 56
  %18 = getelementptr inbounds nuw i8, ptr %0, i64 120
  %19 = getelementptr inbounds nuw i8, ptr %3, i64 20
  br label %20

20:
  %21 = phi i32 [ 0, %1 ], [ %54, %53 ]
  %22 = phi i64 [ -1, %1 ], [ %55, %53 ]
  tail call fastcc void @sleep_while(ptr %0, ptr nonnull %11, i32 0, i64 100000000) #11
  store atomic i32 0, ptr %12 seq_cst, align 4
  %23 = load atomic i64, ptr %13 seq_cst, align 8
  %24 = load atomic i64, ptr %14 seq_cst, align 8
  %25 = inttoptr i64 %24 to ptr
  %26 = icmp eq i64 %24, 0
  br i1 %26, label %48, label %27

27:
  %28 = getelementptr inbounds nuw i8, ptr %25, i64 560
  %29 = load atomic i32, ptr %28 seq_cst, align 8
  %30 = icmp eq i32 %29, 1
  %31 = icmp eq i64 %22, %23
  %32 = select i1 %30, i1 %31, i1 false
  br i1 %32, label %33, label %53

33:
  %34 = getelementptr inbounds nuw i8, ptr %25, i64 584
  %35 = load atomic i64, ptr %34 seq_cst, align 8
  %36 = load i64, ptr %15, align 8
  %37 = add i64 %36, 63
  %38 = and i64 %37, 63
  %39 = shl i64 %35, %38
  %40 = load atomic i64, ptr %16 monotonic, align 8
  %41 = or i64 %39, %40
  %42 = tail call fastcc i32 @settle(ptr %0, i64 %41) #11
  %43 = icmp eq i32 %42, 0
  %44 = select i1 %43, i64 0, i64 %41
  store atomic i64 %44, ptr %16 monotonic, align 8
  store atomic i64 1, ptr %34 seq_cst, align 8
  %45 = load ptr, ptr %17, align 8
  %46 = load i64, ptr %18, align 8
  %47 = tail call i32 %45(i64 %46, i32 %42, ptr nonnull %25) #10
  br label %53

48:
  %49 = icmp eq i64 %22, %23
  %50 = add i32 %21, 1
  %51 = select i1 %49, i32 %50, i32 1
  %52 = icmp sgt i32 %51, 3
  br i1 %52, label %56, label %53

53:
  %54 = phi i32 [ 0, %60 ], [ %51, %48 ], [ 0, %33 ], [ 0, %27 ]
  %55 = phi i64 [ -1, %60 ], [ %23, %48 ], [ %23, %33 ], [ %23, %27 ]
  br label %20

56:
  store atomic i32 1, ptr %19 seq_cst, align 4
  %57 = load atomic i64, ptr %14 seq_cst, align 8
  %58 = icmp eq i64 %57, 0
  br i1 %58, label %59, label %60

59:
  tail call fastcc void @sleep_while(ptr %0, ptr nonnull %19, i32 1, i64 0) #11
  br label %60

60:
  store atomic i32 0, ptr %19 seq_cst, align 4
  br label %53
}

define internal fastcc void @wake(ptr nocapture readonly %0, ptr %1, i32 %2) unnamed_addr #1 {
  %4 = load ptr, ptr %0, align 8
  %5 = load i64, ptr @IS_ARM, align 8
  %6 = icmp eq i64 %5, 0
  %7 = select i1 %6, i64 202, i64 98
  %8 = tail call i64 (i64, ...) %4(i64 %7, ptr %1, i32 129, i32 %2, ptr null, ptr null, i32 0) #10
  ret void
}

define internal fastcc void @sleep_while(ptr nocapture readonly %0, ptr %1, i32 %2, i64 %3) unnamed_addr #1 {
  %5 = alloca [2 x i64], align 16
  store i64 0, ptr %5, align 16
  %6 = getelementptr inbounds nuw i8, ptr %5, i64 8
  store i64 %3, ptr %6, align 8
  %7 = load ptr, ptr %0, align 8
  %8 = load i64, ptr @IS_ARM, align 8
  %9 = icmp eq i64 %8, 0
  %10 = select i1 %9, i64 202, i64 98
  %11 = icmp eq i64 %3, 0
  %12 = select i1 %11, ptr null, ptr %5
  %13 = call i64 (i64, ...) %7(i64 %10, ptr %1, i32 128, i32 %2, ptr %12, ptr null, i32 0) #10
  ret void
}

define internal fastcc i32 @settle(ptr nocapture %0, i64 %1) unnamed_addr #1 {
  %3 = alloca %struct.Action, align 8
  %4 = getelementptr inbounds nuw i8, ptr %0, i64 136
  %5 = load i64, ptr %4, align 8
  %6 = getelementptr inbounds nuw i8, ptr %0, i64 64
  %7 = getelementptr inbounds nuw i8, ptr %0, i64 128
  %8 = getelementptr inbounds nuw i8, ptr %3, i64 136
  br label %9

9:
  %10 = phi i64 [ -1, %2 ], [ %46, %45 ]
  %11 = icmp slt i64 %10, 0
  %12 = icmp eq i64 %10, 0
  %13 = sub nuw nsw i64 61, %10
  %14 = select i1 %12, i64 23, i64 %13
  %15 = select i1 %11, i64 %5, i64 %14
  %16 = icmp eq i64 %15, 0
  br i1 %16, label %45, label %17

17:
  %18 = add i64 %15, -1
  %19 = shl nuw i64 1, %18
  %20 = and i64 %19, %1
  %21 = icmp eq i64 %20, 0
  br i1 %21, label %22, label %45

22:
  %23 = trunc i64 %15 to i32
  call void @llvm.lifetime.start.p0(i64 152, ptr nonnull %3)
  %24 = load ptr, ptr %6, align 8
  %25 = call i32 %24(i32 %23, ptr null, ptr nonnull %3) #10
  %26 = icmp eq i32 %25, 0
  br i1 %26, label %27, label %44

27:
  %28 = load volatile i64, ptr %3, align 8
  %29 = load i64, ptr %7, align 8
  %30 = icmp eq i64 %28, %29
  br i1 %30, label %43, label %31

31:
  %32 = load volatile i64, ptr %3, align 8
  %33 = icmp eq i64 %32, 0
  br i1 %33, label %34, label %44

34:
  %35 = phi i64 [ %37, %34 ], [ 0, %31 ]
  %36 = getelementptr inbounds nuw i64, ptr %3, i64 %35
  store volatile i64 0, ptr %36, align 8
  %37 = add nuw nsw i64 %35, 1
  %38 = icmp eq i64 %37, 19
  br i1 %38, label %39, label %34

39:
  store volatile i64 %29, ptr %3, align 8
  store volatile i32 1342177284, ptr %8, align 8
  %40 = load ptr, ptr %6, align 8
  %41 = call i32 %40(i32 %23, ptr nonnull %3, ptr null) #10
  %42 = icmp eq i32 %41, 0
  call void @llvm.lifetime.end.p0(i64 152, ptr nonnull %3)
  br i1 %42, label %48, label %45

43:
  call void @llvm.lifetime.end.p0(i64 152, ptr nonnull %3)
  br label %48

44:
  call void @llvm.lifetime.end.p0(i64 152, ptr nonnull %3)
  br label %45

45:
  %46 = add nsw i64 %10, 1
  %47 = icmp eq i64 %46, 11
  br i1 %47, label %48, label %9

48:
  %49 = phi i64 [ %15, %43 ], [ 0, %45 ], [ %15, %39 ]
  %50 = phi i32 [ %23, %43 ], [ 0, %45 ], [ %23, %39 ]
  store atomic i64 %49, ptr %4 seq_cst, align 8
  ret i32 %50
}

define internal fastcc i32 @share(ptr %0, ptr nonnull %1, ptr %2, ptr nonnull %3, ptr %4, i64 %5, i64 %6, ptr %7) unnamed_addr #1 {
  %9 = getelementptr inbounds nuw i8, ptr %0, i64 112
  %10 = load ptr, ptr %9, align 8
  %11 = getelementptr inbounds nuw i8, ptr %10, i64 72
  br label %15

12:
  %13 = add nuw nsw i64 %16, 1
  %14 = icmp eq i64 %13, 8
  br i1 %14, label %20, label %15

15:
  %16 = phi i64 [ 0, %8 ], [ %13, %12 ]
  %17 = getelementptr inbounds nuw [8 x %struct.Slot], ptr %11, i64 0, i64 %16
  %18 = cmpxchg ptr %17, i32 0, i32 1 seq_cst seq_cst, align 8
  %19 = extractvalue { i32, i1 } %18, 1
  br i1 %19, label %20, label %12

20:
  %21 = phi ptr [ %17, %15 ], [ null, %12 ]
  %22 = icmp eq ptr %21, null
  br i1 %22, label %103, label %23

23:
  %24 = sub i64 %6, %5
  %25 = getelementptr inbounds nuw i8, ptr %2, i64 32
  %26 = load i64, ptr %25, align 8
  %27 = getelementptr inbounds nuw i8, ptr %1, i64 16
  %28 = load ptr, ptr %27, align 8
  %29 = icmp eq ptr %28, null
  br i1 %29, label %39, label %30

30:
  %31 = getelementptr inbounds nuw i8, ptr %10, i64 28
  %32 = load atomic i32, ptr %31 monotonic, align 4
  %33 = icmp eq i32 %32, 0
  br i1 %33, label %37, label %34

34:
  %35 = udiv i64 100000000, %26
  %36 = icmp ult i64 %24, %35
  br i1 %36, label %39, label %37

37:
  %38 = tail call i32 @settle_here(ptr %0) #11
  br label %39

39:
  %40 = getelementptr inbounds nuw i8, ptr %2, i64 56
  %41 = load i32, ptr %40, align 8
  %42 = add i32 %41, -1
  tail call fastcc void @start(ptr %0, ptr %10, i32 %42) #11
  %43 = tail call i32 @llvm.umin.i32(i32 %41, i32 64)
  %44 = zext nneg i32 %43 to i64
  %45 = tail call i64 @llvm.smin.i64(i64 %24, i64 %44)
  %46 = getelementptr inbounds nuw i8, ptr %21, i64 32
  store ptr %2, ptr %46, align 8
  %47 = getelementptr inbounds nuw i8, ptr %21, i64 40
  store ptr %3, ptr %47, align 8
  %48 = getelementptr inbounds nuw i8, ptr %21, i64 48
  store ptr %4, ptr %48, align 8
  %49 = getelementptr inbounds nuw i8, ptr %2, i64 72
  %50 = load i64, ptr %49, align 8
  %51 = udiv i64 %24, %45
  %52 = or i64 %26, 1
  %53 = udiv i64 3000000, %52
  %54 = tail call i64 @llvm.umax.i64(i64 %50, i64 5000000000)
  %55 = udiv i64 %54, %52
  %56 = getelementptr inbounds nuw i8, ptr %2, i64 80
  %57 = load i64, ptr %56, align 8
  %58 = udiv i64 %51, %57
  %59 = tail call i64 @llvm.smax.i64(i64 %58, i64 %53)
  %60 = tail call i64 @llvm.smin.i64(i64 %59, i64 %55)
  %61 = tail call i64 @llvm.smin.i64(i64 %60, i64 %51)
  %62 = tail call i64 @llvm.smax.i64(i64 %61, i64 1)
  %63 = getelementptr inbounds nuw i8, ptr %21, i64 56
  store i64 %62, ptr %63, align 8
  %64 = trunc i64 %45 to i32
  %65 = getelementptr inbounds nuw i8, ptr %21, i64 28
  store i32 %64, ptr %65, align 4
  %66 = getelementptr inbounds nuw i8, ptr %21, i64 24
  store i32 0, ptr %66, align 8
  %67 = getelementptr inbounds nuw i8, ptr %21, i64 16
  store atomic i32 0, ptr %67 seq_cst, align 8
  %68 = getelementptr inbounds nuw i8, ptr %21, i64 20
  store atomic i32 0, ptr %68 seq_cst, align 4
  %69 = getelementptr inbounds nuw i8, ptr %21, i64 128
  %70 = tail call i64 @llvm.smax.i64(i64 %45, i64 1)
  br label %71

71:
  %72 = phi i64 [ %5, %39 ], [ %78, %71 ]
  %73 = phi i64 [ 0, %39 ], [ %75, %71 ]
  %74 = getelementptr inbounds nuw [64 x %struct.Part], ptr %69, i64 0, i64 %73
  store i64 %72, ptr %74, align 8
  %75 = add nuw nsw i64 %73, 1
  %76 = icmp slt i64 %75, %45
  %77 = add i64 %72, %51
  %78 = select i1 %76, i64 %77, i64 %6
  %79 = getelementptr inbounds nuw i8, ptr %74, i64 8
  store i64 %78, ptr %79, align 8
  %80 = icmp eq i64 %75, %70
  br i1 %80, label %81, label %71

81:
  %82 = getelementptr inbounds nuw i8, ptr %21, i64 4
  store atomic i32 1, ptr %82 seq_cst, align 4
  %83 = atomicrmw add ptr %10, i32 1 seq_cst, align 8
  %84 = getelementptr inbounds nuw i8, ptr %10, i64 4
  %85 = load atomic i32, ptr %84 seq_cst, align 4
  %86 = icmp eq i32 %85, 0
  br i1 %86, label %89, label %87

87:
  %88 = add i32 %64, -1
  tail call fastcc void @wake(ptr %0, ptr %10, i32 %88) #11
  br label %89

89:
  %90 = load ptr, ptr %27, align 8
  tail call fastcc void @work(ptr %0, ptr nonnull %21, i32 0, ptr %90, ptr nonnull %1) #11
  tail call fastcc void @await(ptr %0, ptr %1, ptr %21) #11
  %91 = load atomic i32, ptr %68 seq_cst, align 4
  %92 = icmp eq i32 %91, 0
  br i1 %92, label %102, label %93

93:
  %94 = getelementptr inbounds nuw i8, ptr %21, i64 64
  br label %95

95:
  %96 = phi i64 [ 0, %93 ], [ %100, %95 ]
  %97 = getelementptr inbounds nuw i32, ptr %94, i64 %96
  %98 = load i32, ptr %97, align 4
  %99 = getelementptr inbounds nuw i32, ptr %7, i64 %96
  store volatile i32 %98, ptr %99, align 4
  %100 = add nuw nsw i64 %96, 1
  %101 = icmp eq i64 %100, 7
  br i1 %101, label %102, label %95

102:
  store atomic i32 0, ptr %21 seq_cst, align 8
  br label %103

103:
  %104 = phi i32 [ %91, %102 ], [ -1002, %20 ]
  ret i32 %104
}

define internal fastcc i32 @run(ptr %0, ptr nocapture readonly %1, ptr %2, ptr %3, i64 %4, i64 %5, ptr %6) unnamed_addr #1 {
  %8 = icmp eq ptr %0, null
  br i1 %8, label %9, label %12

9:
  %10 = load ptr, ptr %1, align 8
  %11 = call i32 %10(ptr %3, ptr %2, i64 %4, i64 %5, ptr %6) #10
  br label %29

12:
  %13 = getelementptr inbounds nuw i8, ptr %1, i64 16
  %14 = load i64, ptr %13, align 8
  %15 = getelementptr inbounds nuw i8, ptr %0, i64 512
  store i64 %14, ptr %15, align 8
  %16 = getelementptr inbounds nuw i8, ptr %1, i64 24
  %17 = load i64, ptr %16, align 8
  %18 = getelementptr inbounds nuw i8, ptr %0, i64 520
  store i64 %17, ptr %18, align 8
  %19 = getelementptr inbounds nuw i8, ptr %0, i64 544
  %20 = load ptr, ptr %19, align 8
  %21 = getelementptr inbounds nuw i8, ptr %20, i64 72
  %22 = load ptr, ptr %21, align 8
  %23 = call i32 @set_jump(ptr %22, ptr nonnull %0) #12
  %24 = icmp eq i32 %23, 0
  br i1 %24, label %25, label %29

25:
  %26 = getelementptr inbounds nuw i8, ptr %0, i64 560
  store volatile i32 1, ptr %26, align 8
  fence syncscope("singlethread") seq_cst
  %27 = load ptr, ptr %1, align 8
  %28 = call i32 %27(ptr %3, ptr %2, i64 %4, i64 %5, ptr %6) #10
  fence syncscope("singlethread") seq_cst
  store volatile i32 0, ptr %26, align 8
  br label %29

29:
  %30 = phi i32 [ %28, %25 ], [ %11, %9 ], [ -1001, %12 ]
  ret i32 %30
}

define internal fastcc void @learn(ptr nocapture %0, i64 %1, i64 %2) unnamed_addr #4 {
  %4 = getelementptr inbounds nuw i8, ptr %0, i64 32
  %5 = load atomic i64, ptr %4 monotonic, align 8
  %6 = mul i64 %1, 1000
  %7 = udiv i64 %6, %2
  %8 = or i64 %7, 1
  %9 = icmp ult i64 %8, %5
  br i1 %9, label %10, label %14

10:
  %11 = sub nuw i64 %5, %8
  %12 = lshr i64 %11, 3
  %13 = add i64 %12, %8
  br label %17

14:
  %15 = add i64 %8, %5
  %16 = lshr i64 %15, 1
  br label %17

17:
  %18 = phi i64 [ %13, %10 ], [ %16, %14 ]
  %19 = icmp eq i64 %5, 0
  %20 = select i1 %19, i64 %8, i64 %18
  store atomic i64 %20, ptr %4 monotonic, align 8
  ret void
}

define internal fastcc zeroext i1 @look(ptr nocapture %0, i64 %1) unnamed_addr #1 {
  %3 = getelementptr inbounds nuw i8, ptr %0, i64 40
  %4 = load i32, ptr %3, align 8
  %5 = icmp eq i32 %4, 0
  br i1 %5, label %6, label %37

6:
  %7 = getelementptr inbounds nuw i8, ptr %0, i64 8
  %8 = load i64, ptr %7, align 8
  %9 = sub i64 %1, %8
  %10 = icmp slt i64 %9, 50000000
  br i1 %10, label %37, label %11

11:
  %12 = getelementptr inbounds nuw i8, ptr %0, i64 36
  %13 = load i32, ptr %12, align 4
  %14 = icmp eq i32 %13, 0
  br i1 %14, label %37, label %15

15:
  %16 = getelementptr inbounds nuw i8, ptr %0, i64 24
  %17 = load ptr, ptr %16, align 8
  %18 = getelementptr inbounds nuw i8, ptr %0, i64 32
  %19 = load i32, ptr %18, align 8
  %20 = icmp eq i32 %19, 0
  br i1 %20, label %21, label %25

21:
  %22 = getelementptr inbounds nuw i8, ptr %17, i64 96
  %23 = load ptr, ptr %22, align 8
  %24 = load ptr, ptr %0, align 8
  tail call void %23(ptr %24) #10
  br label %25

25:
  %26 = getelementptr inbounds nuw i8, ptr %17, i64 104
  %27 = load ptr, ptr %26, align 8
  %28 = tail call i32 %27() #10
  br i1 %20, label %29, label %33

29:
  %30 = getelementptr inbounds nuw i8, ptr %17, i64 88
  %31 = load ptr, ptr %30, align 8
  %32 = tail call ptr %31() #10
  store ptr %32, ptr %0, align 8
  br label %33

33:
  %34 = tail call fastcc i64 @now(ptr %17) #11
  store i64 %34, ptr %7, align 8
  %35 = icmp eq i32 %28, 0
  br i1 %35, label %37, label %36

36:
  store i32 1, ptr %3, align 8
  br label %37

37:
  %38 = phi i1 [ true, %2 ], [ false, %11 ], [ false, %6 ], [ true, %36 ], [ false, %33 ]
  ret i1 %38
}

define internal fastcc void @start(ptr %0, ptr %1, i32 %2) unnamed_addr #1 {
  %4 = alloca i64, align 8
  %5 = alloca %struct.Mask, align 8
  %6 = alloca %struct.Mask, align 8
  %7 = tail call i32 @llvm.smin.i32(i32 %2, i32 255)
  %8 = getelementptr inbounds nuw i8, ptr %1, i64 8
  %9 = load atomic i32, ptr %8 seq_cst, align 8
  %10 = icmp slt i32 %9, %7
  br i1 %10, label %11, label %44

11:
  %12 = getelementptr inbounds nuw i8, ptr %1, i64 12
  %13 = cmpxchg ptr %12, i32 0, i32 1 seq_cst seq_cst, align 4
  %14 = extractvalue { i32, i1 } %13, 1
  br i1 %14, label %15, label %44

15:
  call fastcc void @shut(ptr %0, ptr %5, ptr %6) #11
  %16 = load atomic i32, ptr %8 seq_cst, align 8
  %17 = icmp slt i32 %16, %7
  br i1 %17, label %18, label %40

18:
  %19 = getelementptr inbounds nuw i8, ptr %1, i64 33864
  %20 = getelementptr inbounds nuw i8, ptr %0, i64 16
  %21 = getelementptr inbounds nuw i8, ptr %0, i64 24
  %22 = sext i32 %16 to i64
  %23 = sext i32 %7 to i64
  br label %24

24:
  %25 = phi i64 [ %22, %18 ], [ %28, %33 ]
  %26 = getelementptr inbounds [255 x %struct.Runner], ptr %19, i64 0, i64 %25
  %27 = getelementptr inbounds nuw i8, ptr %26, i64 544
  store ptr %0, ptr %27, align 8
  %28 = add nsw i64 %25, 1
  %29 = getelementptr inbounds nuw i8, ptr %26, i64 568
  store i64 %28, ptr %29, align 8
  call void @llvm.lifetime.start.p0(i64 8, ptr nonnull %4)
  %30 = load ptr, ptr %20, align 8
  %31 = call i32 %30(ptr nonnull %4, ptr null, ptr nonnull @worker, ptr nonnull %26) #10
  %32 = icmp eq i32 %31, 0
  br i1 %32, label %33, label %39

33:
  %34 = load ptr, ptr %21, align 8
  %35 = load i64, ptr %4, align 8
  %36 = call i32 %34(i64 %35) #10
  call void @llvm.lifetime.end.p0(i64 8, ptr nonnull %4)
  %37 = trunc nsw i64 %28 to i32
  store atomic i32 %37, ptr %8 seq_cst, align 8
  %38 = icmp eq i64 %28, %23
  br i1 %38, label %40, label %24

39:
  call void @llvm.lifetime.end.p0(i64 8, ptr nonnull %4)
  br label %40

40:
  %41 = getelementptr inbounds nuw i8, ptr %0, i64 48
  %42 = load ptr, ptr %41, align 8
  %43 = call i32 %42(i32 2, ptr nonnull %6, ptr null) #10
  store atomic i32 0, ptr %12 seq_cst, align 4
  br label %44

44:
  ret void
}

define internal fastcc void @work(ptr nocapture readonly %0, ptr %1, i32 %2, ptr %3, ptr %4) unnamed_addr #1 {
  %6 = alloca [8 x i32], align 16
  %7 = getelementptr inbounds nuw i8, ptr %1, i64 28
  %8 = load i32, ptr %7, align 4
  %9 = tail call fastcc i64 @now(ptr %0) #11
  %10 = icmp eq i32 %8, 0
  br i1 %10, label %71, label %11

11:
  %12 = getelementptr inbounds nuw i8, ptr %1, i64 128
  %13 = getelementptr inbounds nuw i8, ptr %1, i64 16
  %14 = getelementptr inbounds nuw i8, ptr %1, i64 56
  %15 = getelementptr inbounds nuw i8, ptr %1, i64 32
  %16 = getelementptr inbounds nuw i8, ptr %1, i64 40
  %17 = getelementptr inbounds nuw i8, ptr %1, i64 48
  %18 = icmp eq ptr %4, null
  %19 = getelementptr inbounds nuw i8, ptr %1, i64 32
  br label %20

20:
  %21 = phi i32 [ 0, %11 ], [ %69, %68 ]
  %22 = phi i64 [ %9, %11 ], [ %30, %68 ]
  %23 = add i32 %21, %2
  %24 = urem i32 %23, %8
  %25 = zext i32 %24 to i64
  %26 = getelementptr inbounds nuw [64 x %struct.Part], ptr %12, i64 0, i64 %25
  call void @llvm.lifetime.start.p0(i64 32, ptr nonnull %6)
  %27 = getelementptr inbounds nuw i8, ptr %26, i64 8
  %28 = load i64, ptr %27, align 8
  br label %29

29:
  %30 = phi i64 [ %60, %59 ], [ %22, %20 ]
  br label %31

31:
  %32 = load atomic i32, ptr %13 monotonic, align 8
  %33 = icmp eq i32 %32, 0
  br i1 %33, label %34, label %66

34:
  %35 = load atomic i64, ptr %14 monotonic, align 8
  %36 = atomicrmw add ptr %26, i64 %35 monotonic, align 8
  %37 = icmp slt i64 %36, %28
  br i1 %37, label %38, label %68

38:
  %39 = add i64 %36, %35
  %40 = call i64 @llvm.smin.i64(i64 %39, i64 %28)
  %41 = load ptr, ptr %15, align 8
  %42 = load ptr, ptr %16, align 8
  %43 = load ptr, ptr %17, align 8
  %44 = call fastcc i32 @run(ptr %3, ptr %41, ptr %42, ptr %43, i64 %36, i64 %40, ptr nonnull %6) #11
  switch i32 %44, label %45 [
    i32 0, label %58
    i32 -1001, label %66
  ]

45:
  %46 = getelementptr inbounds nuw i8, ptr %1, i64 20
  %47 = cmpxchg ptr %46, i32 0, i32 %44 seq_cst seq_cst, align 4
  %48 = extractvalue { i32, i1 } %47, 1
  br i1 %48, label %49, label %66

49:
  %50 = getelementptr inbounds nuw i8, ptr %1, i64 64
  br label %51

51:
  %52 = phi i64 [ 0, %49 ], [ %56, %51 ]
  %53 = getelementptr inbounds nuw i32, ptr %6, i64 %52
  %54 = load i32, ptr %53, align 4
  %55 = getelementptr inbounds nuw i32, ptr %50, i64 %52
  store volatile i32 %54, ptr %55, align 4
  %56 = add nuw nsw i64 %52, 1
  %57 = icmp eq i64 %56, 7
  br i1 %57, label %66, label %51

58:
  br i1 %18, label %31, label %59

59:
  %60 = call fastcc i64 @now(ptr %0) #11
  %61 = sub i64 %60, %30
  %62 = load ptr, ptr %19, align 8
  %63 = sub i64 %40, %36
  call fastcc void @learn(ptr %62, i64 %61, i64 %63) #11
  %64 = sub i64 %28, %40
  call fastcc void @lengthen(ptr %1, i64 %35, i64 %61, i64 %64) #11
  %65 = call fastcc zeroext i1 @look(ptr nonnull %4, i64 %60) #11
  br i1 %65, label %66, label %29

66:
  %67 = getelementptr inbounds nuw i8, ptr %1, i64 16
  store atomic i32 1, ptr %67 seq_cst, align 8
  call void @llvm.lifetime.end.p0(i64 32, ptr nonnull %6)
  br label %71

68:
  call void @llvm.lifetime.end.p0(i64 32, ptr nonnull %6)
  %69 = add nuw i32 %21, 1
  %70 = icmp eq i32 %69, %8
  br i1 %70, label %71, label %20

71:
  %72 = getelementptr inbounds nuw i8, ptr %1, i64 4
  store atomic i32 0, ptr %72 seq_cst, align 4
  ret void
}

define internal fastcc void @await(ptr nocapture readonly %0, ptr nocapture nonnull %1, ptr nonnull %2) unnamed_addr #1 {
  %4 = tail call fastcc i64 @now(ptr %0) #11
  %5 = getelementptr inbounds nuw i8, ptr %2, i64 8
  %6 = load atomic i32, ptr %5 seq_cst, align 8
  %7 = icmp eq i32 %6, 0
  br i1 %7, label %32, label %8

8:
  %9 = load i64, ptr @IS_ARM, align 8
  %10 = icmp eq i64 %9, 0
  %11 = getelementptr inbounds nuw i8, ptr %2, i64 16
  %12 = getelementptr inbounds nuw i8, ptr %2, i64 24
  %13 = getelementptr inbounds nuw i8, ptr %2, i64 12
  br label %14

14:
  br i1 %10, label %16, label %15

15:
  tail call void @arm_yield() #10
  br label %17

16:
  tail call void @llvm.x86.sse2.pause()
  br label %17

17:
  %18 = tail call fastcc i64 @now(ptr %0) #11
  %19 = tail call fastcc zeroext i1 @look(ptr nonnull %1, i64 %18) #11
  br i1 %19, label %20, label %21

20:
  store atomic i32 1, ptr %11 seq_cst, align 8
  store atomic i32 1, ptr %12 seq_cst, align 8
  tail call fastcc void @expel(ptr %0, ptr %2) #11
  br label %24

21:
  %22 = sub i64 %18, %4
  %23 = icmp slt i64 %22, 50001
  br i1 %23, label %29, label %24

24:
  %25 = phi i64 [ 5000000, %20 ], [ 50000000, %21 ]
  store atomic i32 1, ptr %13 seq_cst, align 4
  %26 = load atomic i32, ptr %5 seq_cst, align 8
  %27 = icmp eq i32 %26, 0
  br i1 %27, label %32, label %28

28:
  tail call fastcc void @sleep_while(ptr %0, ptr nonnull %5, i32 %26, i64 %25) #11
  br label %29

29:
  %30 = load atomic i32, ptr %5 seq_cst, align 8
  %31 = icmp eq i32 %30, 0
  br i1 %31, label %32, label %14

32:
  %33 = getelementptr inbounds nuw i8, ptr %2, i64 12
  store atomic i32 0, ptr %33 seq_cst, align 4
  ret void
}

define internal ptr @worker(ptr %0) #3 {
  %2 = alloca %struct.Mask, align 8
  %3 = alloca %struct.Mask, align 8
  %4 = getelementptr inbounds nuw i8, ptr %0, i64 544
  %5 = load ptr, ptr %4, align 8
  %6 = getelementptr inbounds nuw i8, ptr %5, i64 112
  %7 = load ptr, ptr %6, align 8
  %8 = getelementptr inbounds nuw i8, ptr %5, i64 32
  %9 = load ptr, ptr %8, align 8
  %10 = tail call i64 %9() #10
  %11 = getelementptr inbounds nuw i8, ptr %0, i64 552
  store i64 %10, ptr %11, align 8
  %12 = getelementptr inbounds nuw i8, ptr %5, i64 40
  %13 = load ptr, ptr %12, align 8
  %14 = getelementptr inbounds nuw i8, ptr %5, i64 152
  %15 = tail call i32 %13(i64 %10, ptr nonnull %14) #10
  %16 = getelementptr inbounds nuw i8, ptr %7, i64 72
  %17 = getelementptr inbounds nuw i8, ptr %5, i64 136
  %18 = getelementptr inbounds nuw i8, ptr %0, i64 576
  %19 = getelementptr inbounds nuw i8, ptr %0, i64 536
  %20 = getelementptr inbounds nuw i8, ptr %0, i64 568
  %21 = load i64, ptr @IS_ARM, align 8
  %22 = icmp eq i64 %21, 0
  %23 = getelementptr inbounds nuw i8, ptr %7, i64 4
  br label %24

24:
  %25 = load atomic i32, ptr %7 seq_cst, align 8
  br label %26

26:
  %27 = phi i64 [ 0, %24 ], [ %54, %53 ]
  %28 = getelementptr inbounds nuw [8 x %struct.Slot], ptr %16, i64 0, i64 %27
  call void @llvm.lifetime.start.p0(i64 128, ptr nonnull %2)
  call void @llvm.lifetime.start.p0(i64 128, ptr nonnull %3)
  %29 = getelementptr inbounds nuw i8, ptr %28, i64 4
  %30 = load atomic i32, ptr %29 seq_cst, align 4
  %31 = icmp eq i32 %30, 0
  br i1 %31, label %53, label %32

32:
  %33 = getelementptr inbounds nuw i8, ptr %28, i64 8
  %34 = atomicrmw add ptr %33, i32 1 seq_cst, align 8
  %35 = load atomic i32, ptr %29 seq_cst, align 4
  %36 = getelementptr inbounds nuw i8, ptr %28, i64 28
  %37 = load i32, ptr %36, align 4
  %38 = add i32 %37, -1
  %39 = icmp slt i32 %34, %38
  %40 = icmp ne i32 %35, 0
  %41 = select i1 %39, i1 %40, i1 false
  br i1 %41, label %42, label %52

42:
  %43 = load atomic i64, ptr %17 seq_cst, align 8
  %44 = load i64, ptr %18, align 8
  %45 = icmp eq i64 %44, %43
  br i1 %45, label %47, label %46

46:
  call fastcc void @shut(ptr %5, ptr %2, ptr %3) #11
  store i64 %43, ptr %18, align 8
  br label %47

47:
  %48 = ptrtoint ptr %28 to i64
  store atomic i64 %48, ptr %19 seq_cst, align 8
  %49 = load i64, ptr %20, align 8
  %50 = trunc i64 %49 to i32
  call fastcc void @work(ptr %5, ptr nonnull %28, i32 %50, ptr %0, ptr null) #11
  store atomic i64 0, ptr %19 seq_cst, align 8
  call fastcc void @leave(ptr %5, ptr nonnull %28) #11
  call void @llvm.lifetime.end.p0(i64 128, ptr nonnull %2)
  call void @llvm.lifetime.end.p0(i64 128, ptr nonnull %3)
  br label %51

51:
  br label %24

52:
  call fastcc void @leave(ptr %5, ptr nonnull %28) #11
  br label %53

53:
  call void @llvm.lifetime.end.p0(i64 128, ptr nonnull %2)
  call void @llvm.lifetime.end.p0(i64 128, ptr nonnull %3)
  %54 = add nuw nsw i64 %27, 1
  %55 = icmp eq i64 %54, 8
  br i1 %55, label %56, label %26

56:
  %57 = call fastcc i64 @now(ptr %5) #11
  br label %63

58:
  %59 = add nuw nsw i32 %64, 1
  %60 = icmp eq i32 %59, 32
  br i1 %60, label %70, label %61

61:
  %62 = phi i32 [ %59, %58 ], [ 0, %70 ]
  br label %63

63:
  %64 = phi i32 [ 0, %56 ], [ %62, %61 ]
  br i1 %22, label %66, label %65

65:
  call void @arm_yield() #10
  br label %67

66:
  call void @llvm.x86.sse2.pause()
  br label %67

67:
  %68 = load atomic i32, ptr %7 seq_cst, align 8
  %69 = icmp eq i32 %68, %25
  br i1 %69, label %58, label %51

70:
  %71 = call fastcc i64 @now(ptr %5) #11
  %72 = sub i64 %71, %57
  %73 = icmp slt i64 %72, 50001
  br i1 %73, label %61, label %74

74:
  %75 = atomicrmw add ptr %23, i32 1 seq_cst, align 4
  call fastcc void @sleep_while(ptr %5, ptr nonnull %7, i32 %25, i64 0) #11
  %76 = atomicrmw sub ptr %23, i32 1 seq_cst, align 4
  br label %51
}

define internal fastcc void @leave(ptr nocapture readonly %0, ptr %1) unnamed_addr #1 {
  %3 = getelementptr inbounds nuw i8, ptr %1, i64 8
  %4 = atomicrmw sub ptr %3, i32 1 seq_cst, align 8
  %5 = icmp eq i32 %4, 1
  br i1 %5, label %6, label %11

6:
  %7 = getelementptr inbounds nuw i8, ptr %1, i64 12
  %8 = load atomic i32, ptr %7 seq_cst, align 4
  %9 = icmp eq i32 %8, 0
  br i1 %9, label %11, label %10

10:
  tail call fastcc void @wake(ptr %0, ptr nonnull %3, i32 1) #11
  br label %11

11:
  ret void
}

declare void @llvm.aarch64.hint(i32)

define internal void @arm_yield() alwaysinline {
  call void @llvm.aarch64.hint(i32 1)
  ret void
}

declare void @llvm.x86.sse2.pause() #6

define internal fastcc void @lengthen(ptr nocapture writeonly %0, i64 %1, i64 %2, i64 %3) unnamed_addr #4 {
  %5 = icmp slt i64 %2, 2000
  br i1 %5, label %6, label %12

6:
  %7 = shl i64 %1, 1
  %8 = lshr i64 %3, 3
  %9 = icmp ugt i64 %7, %8
  br i1 %9, label %12, label %10

10:
  %11 = getelementptr inbounds nuw i8, ptr %0, i64 56
  store atomic i64 %7, ptr %11 monotonic, align 8
  br label %12

12:
  ret void
}

define internal fastcc void @expel(ptr nocapture readonly %0, ptr nonnull readnone %1) unnamed_addr #1 {
  %3 = getelementptr inbounds nuw i8, ptr %0, i64 112
  %4 = load ptr, ptr %3, align 8
  %5 = getelementptr inbounds nuw i8, ptr %4, i64 8
  %6 = load atomic i32, ptr %5 seq_cst, align 8
  %7 = icmp sgt i32 %6, 0
  br i1 %7, label %8, label %34

8:
  %9 = getelementptr inbounds nuw i8, ptr %4, i64 33864
  %10 = getelementptr inbounds nuw i8, ptr %0, i64 56
  %11 = zext nneg i32 %6 to i64
  br label %12

12:
  %13 = phi i64 [ 0, %8 ], [ %32, %31 ]
  %14 = getelementptr inbounds nuw [255 x %struct.Runner], ptr %9, i64 0, i64 %13
  %15 = getelementptr inbounds nuw i8, ptr %14, i64 536
  %16 = load atomic i64, ptr %15 seq_cst, align 8
  %17 = getelementptr inbounds nuw i8, ptr %14, i64 560
  %18 = load atomic i32, ptr %17 seq_cst, align 8
  %19 = icmp eq i32 %18, 1
  %20 = inttoptr i64 %16 to ptr
  %21 = icmp eq ptr %1, %20
  %22 = select i1 %19, i1 %21, i1 false
  br i1 %22, label %23, label %31

23:
  %24 = load ptr, ptr %10, align 8
  %25 = getelementptr inbounds nuw i8, ptr %14, i64 552
  %26 = load i64, ptr %25, align 8
  %27 = getelementptr inbounds nuw i8, ptr %14, i64 576
  %28 = load i64, ptr %27, align 8
  %29 = trunc i64 %28 to i32
  %30 = tail call i32 %24(i64 %26, i32 %29, ptr nonnull %14) #10
  br label %31

31:
  %32 = add nuw nsw i64 %13, 1
  %33 = icmp eq i64 %32, %11
  br i1 %33, label %34, label %12

34:
  ret void
}

define internal i32 @set_jump(ptr %function, ptr %buffer) alwaysinline returns_twice {
  %jumped = call i32 %function(ptr %buffer) returns_twice
  ret i32 %jumped
}

define internal fastcc void @unwatch(ptr nocapture %0, ptr %1) unnamed_addr #4 {
  %3 = getelementptr inbounds nuw i8, ptr %0, i64 24
  %4 = load i32, ptr %3, align 8
  %5 = add i32 %4, -1
  store i32 %5, ptr %3, align 8
  %6 = icmp eq ptr %1, null
  br i1 %6, label %13, label %7

7:
  %8 = getelementptr inbounds nuw i8, ptr %0, i64 40
  %9 = icmp eq i32 %5, 0
  %10 = getelementptr inbounds i8, ptr %1, i64 -592
  %11 = ptrtoint ptr %10 to i64
  %12 = select i1 %9, i64 0, i64 %11
  store atomic i64 %12, ptr %8 seq_cst, align 8
  br label %13

13:
  ret void
}

declare i64 @llvm.umin.i64(i64, i64) #8

declare i32 @llvm.umin.i32(i32, i32) #8

declare i64 @llvm.umax.i64(i64, i64) #8

declare i32 @llvm.smin.i32(i32, i32) #8

declare i64 @llvm.smax.i64(i64, i64) #8

declare i64 @llvm.smin.i64(i64, i64) #8

declare void @llvm.lifetime.start.p0(i64 immarg, ptr nocapture) #9

declare void @llvm.lifetime.end.p0(i64 immarg, ptr nocapture) #9

attributes #0 = { mustprogress nofree norecurse nosync nounwind willreturn memory(none) "no-builtins" "no-jump-tables"="true" }
attributes #1 = { noinline nounwind "no-builtins" "no-jump-tables"="true" }
attributes #2 = { mustprogress nocallback nofree nounwind willreturn memory(argmem: readwrite) }
attributes #3 = { noinline noreturn nounwind "no-builtins" "no-jump-tables"="true" }
attributes #4 = { mustprogress nofree noinline norecurse nounwind willreturn memory(argmem: readwrite) "no-builtins" "no-jump-tables"="true" }
attributes #5 = { "no-builtins" }
attributes #6 = { nounwind }
attributes #7 = { returns_twice "no-builtins" }
attributes #8 = { nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #9 = { nocallback nofree nosync nounwind willreturn memory(argmem: readwrite) }
attributes #10 = { nobuiltin nounwind "no-builtins" }
attributes #11 = { nobuiltin "no-builtins" }
attributes #12 = { nobuiltin nounwind returns_twice "no-builtins" }
